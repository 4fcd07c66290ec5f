#include <fmt/format.h>

#include "command.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/graph/order.hpp"
#include "penstock/graph/series_parallelize.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

using report::Align;
using report::Table;

struct ModelCommandFlags {
  std::string name;
  ModelFlags model;  ///< parameters only
  std::string output;
  bool json = false;
  bool operators = false;
  WideFlag wide;
};

/// Text such as "16 rows x 768 features".
std::string in_words(const graph::Tensor& tensor) {
  if (tensor.dtype == graph::DType::byte) return "";
  std::string out;
  for (const graph::TensorAxis& axis : tensor.axes)
    out += fmt::format("{}{} {}", out.empty() ? "" : " x ", axis.extent, name(axis.role));
  return out;
}

std::string operator_table(const graph::OpGraph& graph, const report::ScreenLimits& screen) {
  Table table({{"operator"},
               {"kind"},
               {"parameters", Align::right},
               {"MFLOP", Align::right},
               {"output", Align::right, 2},
               {"axes", Align::left, 3},
               {"kept", Align::right, 1},
               {.title = "inputs", .folds = true}});
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const graph::Operator& op = graph.op(core::OpId(v));
    std::string inputs;
    for (const core::OpId operand : graph.operands(core::OpId(v)))
      inputs += (inputs.empty() ? "" : " ") + graph.op(operand).name;
    table.add({op.name, std::string(name(op.kind)), std::to_string(op.parameters),
               fmt::format("{:.2f}", op.forward_flops.value() * 1e-6), core::show(op.output_bytes),
               in_words(graph.output(core::OpId(v))), core::show(op.saved_bytes), inputs});
  }
  return table.text(screen) + "\n";
}

/// With the values that a config or -p gives, where there are any.
std::string parameter_table(const plan::ModelRef& model, const report::ScreenLimits& screen) {
  std::vector<report::Column> columns = {{"parameter"}, {"default"}, {.title = "meaning", .folds = true}};
  const bool given = !model.parameters.empty();
  if (given) columns.insert(columns.begin() + 1, {"value"});
  Table table(std::move(columns));
  for (const auto& info : models::catalogue())
    if (info.name == model.name)
      for (const auto& parameter : info.parameters) {
        std::vector<std::string> cells = {parameter.name, parameter.default_value, parameter.meaning};
        const auto value = model.parameters.find(parameter.name);
        if (given) cells.insert(cells.begin() + 1, value == model.parameters.end() ? "" : value->second);
        table.add(std::move(cells));
      }
  return table.text(screen) + "\n";
}

std::string structure(const graph::OpGraph& graph) {
  if (graph::decompose(graph.dag())) return "series-parallel";
  std::vector<double> weights;
  for (const auto& op : graph.operators()) weights.push_back(op.forward_flops.value());
  const auto made = graph::make_series_parallel(graph.dag(), weights);
  const double before = made.critical_path_before;
  return fmt::format("not series-parallel; {} added order edges lengthen its critical path by {:.2f} %",
                     made.added.size(), before > 0 ? (made.critical_path_after / before - 1) * 100 : 0);
}

void write(const graph::OpGraph& graph, const std::string& path) {
  core::write_file(path, path.ends_with(".dot") ? graph::to_dot(graph) : graph::to_json(graph));
}

core::ExitCode run(const ModelCommandFlags& flags, const CommandContext&) {
  ModelFlags named = flags.model;
  named.name = flags.name;
  const plan::ModelRef ref = named.ref();
  const graph::OpGraph graph = experiment::load_model(ref);
  if (!flags.output.empty()) write(graph, flags.output);
  if (flags.json) {
    print(graph::to_json(graph));
    return core::ExitCode::done;
  }
  const report::ScreenLimits screen = flags.wide.screen();
  std::string page = fmt::format(
      "{}: {} operators, {} edges, {:.1f} M parameters{}, {:.2f} GFLOP forward per sample\nstructure: {}\n\n",
      graph.name(), graph.size(), graph.dag().edge_count(), static_cast<double>(graph.parameters()) * 1e-6,
      graph.frozen_parameters() > 0
          ? fmt::format(" and {:.1f} M frozen", static_cast<double>(graph.frozen_parameters()) * 1e-6)
          : "",
      graph.forward_flops().value() * 1e-9, structure(graph));
  if (!experiment::is_model_file(ref.name)) page += parameter_table(ref, screen);
  if (flags.operators) page += operator_table(graph, screen);
  print_page(page, screen);
  return core::ExitCode::done;
}

}  // namespace

void add_model(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("model", "Show one model: size, structure, parameters, operators; export it.");
  auto flags = std::make_shared<ModelCommandFlags>();
  command->footer(
      "Examples:\n"
      "  penstock model dlrm\n"
      "  penstock model mmt -p branches=2 -p feed_forward=1024 --operators\n"
      "  penstock model inception_v3 -o inception.dot");
  command->add_option("NAME", flags->name, "a network by name, such as llama3-70b or mmt, or a model file")
      ->required()
      ->type_name("NAME|FILE")
      ->check(suggest(model_names()));
  command->add_option("-p,--parameter", flags->model.parameters, "model parameter; can be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--operators", flags->operators, "list every operator");
  command
      ->add_option("-o,--output", flags->output,
                   "write the graph: .dot for Graphviz, else a model file (JSON)")
      ->type_name("FILE");
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
