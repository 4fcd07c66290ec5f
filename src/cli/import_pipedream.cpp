#include <fmt/format.h>

#include <filesystem>

#include "import_command.hpp"
#include "penstock/graph/pipedream_graph.hpp"

namespace penstock::cli {
namespace {

struct ImportPipedreamFlags {
  std::string file;
  std::int64_t batch = 0;
  bool all_layers = false;
  ImportOutputs outputs;
};

/// Inputs are left out: PipeDream's optimizer does not count what it takes to load them.
cost::ProfileCosts profile(const graph::PipedreamGraph& graph, std::int64_t batch) {
  std::map<std::string, cost::ProfileCosts::OperatorCurves> entries;
  for (std::size_t v = 0; v < graph.nodes.size(); ++v) {
    const graph::PipedreamNode& node = graph.nodes[v];
    if (!graph.is_input(v))
      entries[node.id] = {{{batch}, {node.forward_ms / 1000}}, {{batch}, {node.backward_ms / 1000}}};
  }
  return cost::ProfileCosts("profiled by PipeDream", std::move(entries));
}

core::ExitCode run(const ImportPipedreamFlags& flags) {
  const auto read = graph::load_pipedream_graph(flags.file);
  const auto graph = flags.all_layers ? read : graph::without_idle(read);
  const std::string name = std::filesystem::path(flags.outputs.model).stem().string();
  flags.outputs.write({graph::to_op_graph(graph, name, flags.batch), profile(graph, flags.batch)});
  if (graph.nodes.size() < read.nodes.size())
    print(fmt::format("{} layers without work joined a neighbour (--all-layers keeps them)\n",
                      read.nodes.size() - graph.nodes.size()));
  return core::ExitCode::done;
}

}  // namespace

void add_import_pipedream(CLI::App& import, Action& action) {
  auto* command = import.add_subcommand("pipedream-graph", "Read a graph.txt of PipeDream's profiler.");
  command->footer(
      "The file does not say for which mini-batch it was measured: 256 for AlexNet, 128 for VGG-16 and "
      "ResNet-50, 64 for\n"
      "ResNet-101 among those published. Times are known at that size only: of more samples they grow in "
      "proportion; of\n"
      "fewer, launching a kernel stays and the rest shrinks in proportion, which says nothing of how badly "
      "small batches use a\n"
      "GPU (calibrate coverage tells such times). Layers without time and weights join their only neighbour "
      "where no cut gets dearer by it, since they multiply the ways to cut the graph; but a device may then "
      "lack a "
      "stage.\n"
      "The optimizer's answers, as its code counts: import with --all-layers, plan with --option "
      "formula=code --option "
      "reduce=round.\n\n"
      "Example:\n"
      "  penstock import pipedream-graph vgg16/graph.txt --batch 128 -o vgg16.json --costs vgg16.yaml\n"
      "  penstock plan --model vgg16.json --costs vgg16.yaml --planner pipedream --micro-batch 128 "
      "--mini-batch 1024 \\\n"
      "      --cluster summit --devices 8");
  auto flags = std::make_shared<ImportPipedreamFlags>();
  command->add_option("GRAPH", flags->file, "graph.txt")->required()->type_name("FILE");
  command->add_option("--batch", flags->batch, "samples of the mini-batch that was profiled")
      ->required()
      ->check(samples())
      ->type_name("B");
  command->add_flag("--all-layers", flags->all_layers, "layers without time and weights stay by themselves");
  flags->outputs.add(*command);
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
