// penstock calibrate coverage: which of a model's operators a calibration has measured.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "calibrate_command.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/coverage.hpp"
#include "penstock/report/table.hpp"

namespace penstock::cli {
namespace {

using core::show;
using cost::EstimatedCosts;
using cost::TimeOrigin;
using report::Align;
using report::Table;
using Json = nlohmann::ordered_json;

struct CalibrateCoverageFlags {
  std::string file;
  ModelFlags model;
  std::vector<std::int64_t> micro_batches = {1, 8, 64};
  std::size_t worst = 10;
  bool json = false;
  WideFlag wide;
};

std::string shares(const EstimatedCosts& costs, const graph::OpGraph& graph,
                   const std::vector<std::int64_t>& micro_batches, const report::ScreenLimits& screen) {
  std::vector<report::Column> columns = {{"samples", Align::right}, {"time", Align::right}};
  for (std::size_t i = 0; i < cost::kOrigins; ++i)
    columns.push_back({std::string(name(static_cast<TimeOrigin>(i))), Align::right});
  Table table(columns);
  for (const std::int64_t samples : micro_batches) {
    const cost::OriginCoverage coverage = cost::coverage(costs, graph, samples);
    double sum = 0;
    for (const double seconds : coverage.seconds) sum += seconds;
    std::vector<std::string> cells = {std::to_string(samples), show(core::Seconds(sum))};
    for (std::size_t i = 0; i < cost::kOrigins; ++i)
      cells.push_back(fmt::format("{} ops, {:.1f} %", coverage.operators[i],
                                  coverage.time_share(static_cast<TimeOrigin>(i)) * 100));
    table.add(std::move(cells));
  }
  return table.text(screen);
}

std::string in_words(const graph::Operator& op) {
  std::string out;
  for (const auto& [extent, value] : shape_of(op.attributes))
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", extent, value);
  return out;
}

std::string worst(const EstimatedCosts& costs, const graph::OpGraph& graph, std::int64_t samples,
                  std::size_t most, const report::ScreenLimits& screen) {
  const auto gaps = cost::gaps(costs, graph, samples);
  if (gaps.empty() || most == 0) return "";
  Table table({{.title = "operator", .folds = true},
               {"kind"},
               {.title = "shape", .folds = true},
               {"alike", Align::right, 3},
               {"origin"},
               {"time", Align::right},
               {"from", Align::right, 1},
               {"to", Align::right, 2}});
  for (std::size_t i = 0; i < std::min(most, gaps.size()); ++i) {
    const cost::CoverageGap& gap = gaps[i];
    const graph::Operator& op = graph.op(gap.op);
    const auto alike = static_cast<double>(gap.operators);
    table.add({op.name, std::string(name(op.kind)), in_words(op), std::to_string(gap.operators),
               std::string(name(gap.estimate.origin())), show(gap.time()), show(gap.estimate.low() * alike),
               show(gap.estimate.high() * alike)});
  }
  return fmt::format("\nnot measured, for {} samples: {} shapes, the most time first\n{}", samples,
                     gaps.size(), table.text(screen));
}

Json shares_json(const EstimatedCosts& costs, const graph::OpGraph& graph, std::int64_t samples) {
  const cost::OriginCoverage coverage = cost::coverage(costs, graph, samples);
  Json out = {{"samples", samples}};
  for (std::size_t i = 0; i < cost::kOrigins; ++i)
    out[std::string(name(static_cast<TimeOrigin>(i)))] = {{"operators", coverage.operators[i]},
                                                          {"time_s", coverage.seconds[i]}};
  return out;
}

Json gap_json(const graph::OpGraph& graph, const cost::CoverageGap& gap) {
  const graph::Operator& op = graph.op(gap.op);
  const auto alike = static_cast<double>(gap.operators);
  Json shape = Json::object();
  for (const auto& [extent, value] : shape_of(op.attributes)) shape[extent] = value;
  return {{"operator", op.name},
          {"kind", name(op.kind)},
          {"shape", shape},
          {"alike", gap.operators},
          {"origin", name(gap.estimate.origin())},
          {"time_s", gap.time().value()},
          {"from_s", (gap.estimate.low() * alike).value()},
          {"to_s", (gap.estimate.high() * alike).value()}};
}

std::string json(const EstimatedCosts& costs, const graph::OpGraph& graph,
                 const CalibrateCoverageFlags& flags) {
  Json by_samples = Json::array(), listed = Json::array();
  for (const std::int64_t samples : flags.micro_batches)
    by_samples.push_back(shares_json(costs, graph, samples));
  const auto gaps = cost::gaps(costs, graph, flags.micro_batches.back());
  for (std::size_t i = 0; i < std::min(flags.worst, gaps.size()); ++i)
    listed.push_back(gap_json(graph, gaps[i]));
  const Json out = {{"model", graph.name()},
                    {"device", costs.measured_device().name},
                    {"micro_batches", by_samples},
                    {"not_measured",
                     {{"samples", flags.micro_batches.back()}, {"shapes", gaps.size()}, {"worst", listed}}}};
  return out.dump(2) + "\n";
}

std::string text(const EstimatedCosts& costs, const graph::OpGraph& graph,
                 const CalibrateCoverageFlags& flags, const report::ScreenLimits& screen) {
  return fmt::format("{} on {}: operators and share of time by origin\n{}{}", graph.name(),
                     costs.measured_device().name, shares(costs, graph, flags.micro_batches, screen),
                     worst(costs, graph, flags.micro_batches.back(), flags.worst, screen));
}

core::ExitCode coverage(const CalibrateCoverageFlags& flags) {
  const auto file = experiment::load_costs(flags.file);
  const auto& costs = dynamic_cast<const EstimatedCosts&>(*file);  // as all that come from files
  const graph::OpGraph graph = experiment::load_model(flags.model.ref());
  const report::ScreenLimits screen = flags.wide.screen();
  flags.json ? print(json(costs, graph, flags)) : print_page(text(costs, graph, flags, screen), screen);
  return core::ExitCode::done;
}

}  // namespace

void add_calibrate_coverage(CLI::App& calibrate, Action& action) {
  auto* command = calibrate.add_subcommand(
      "coverage", "List which operators of a model a costs file has measured, and which are estimates.");
  command->footer(
      "An operator counts by its worst pass, time by pass. The list is about the last micro-batch size.\n"
      "Of a profile, batches below the smallest measured one are extrapolated too: a fixed part, and the "
      "rest "
      "in proportion\n"
      "to the samples; the list says between which times.\n\n"
      "JSON is one object; every key is always there:\n"
      "  model, device\n"
      "  micro_batches  [{samples, measured, interpolated, extrapolated, analytic}],\n"
      "                 each origin {operators, time_s}\n"
      "  not_measured   {samples, shapes, worst: [{operator, kind, shape, alike, origin, time_s, from_s, "
      "to_s}]}\n\n"
      "Example:\n"
      "  penstock calibrate coverage results/hardware/host.yaml --model bert -p layers=12 --micro-batch "
      "1,4,16");
  auto flags = std::make_shared<CalibrateCoverageFlags>();
  command->add_option("CALIBRATION", flags->file, "the calibration, or a profile of operator times")
      ->required()
      ->type_name("FILE");
  flags->model.add(*command, true);
  command->add_option("--micro-batch", flags->micro_batches, "samples per device, with commas between")
      ->delimiter(',')
      ->check(samples())
      ->type_name("b")
      ->capture_default_str();
  command->add_option("--worst", flags->worst, "how many shapes that were not measured to list")
      ->check(CLI::Range(0, 1 << 20).description(""))
      ->type_name("N")
      ->capture_default_str();
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext&) { return coverage(*flags); }; });
}

}  // namespace penstock::cli
