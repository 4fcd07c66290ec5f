#include <filesystem>

#include "import_command.hpp"
#include "penstock/graph/piper_graph.hpp"

namespace penstock::cli {
namespace {

struct ImportPiperFlags {
  std::string file;
  std::string unit;
  ImportOutputs outputs;
};

/// The file has one time for both passes. Recomputing adds the forward pass. Where the file has no such
/// number, or it is none or more than all, the passes are separated as profiles' `total` is.
double forward_time(const graph::PiperDegree& degree) {
  const double plain = degree.configurations.front().time;
  const double again = degree.configurations.back().time - plain;
  return again > 0 && again < plain ? again : plain / 3;
}

cost::ProfileCosts profile(graph::PiperWorkload workload) {
  std::map<std::string, cost::ProfileCosts::OperatorCurves> entries;
  for (const graph::PiperLayer& layer : workload.layers) {
    const graph::PiperDegree& least = layer.degrees.front();
    const double forward = forward_time(least);
    entries[layer.name] = {{{1}, {forward}}, {{1}, {least.configurations.front().time - forward}}};
  }
  return cost::ProfileCosts("profiled for Piper", std::move(entries), std::move(workload));
}

core::ExitCode run(const ImportPiperFlags& flags) {
  const auto unit = flags.unit == "s" ? graph::PiperTime::seconds : graph::PiperTime::milliseconds;
  const auto workload = graph::load_piper(flags.file, unit);
  const std::string name = std::filesystem::path(flags.outputs.model).stem().string();
  flags.outputs.write({graph::op_graph_of(workload, name), profile(workload)});
  return core::ExitCode::done;
}

}  // namespace

void add_import_piper(CLI::App& import, Action& action) {
  auto* command = import.add_subcommand("piper-json", "Read a workload file of Piper's planner.");
  command->footer(
      "One sample of the model is one micro-batch of Piper's. The model and the operators' times are those "
      "of "
      "the least\n"
      "tensor-parallel degree without recomputation, which all planners and the simulator take. The costs "
      "hold every degree,\n"
      "recomputation and message besides: --option costs=imported of planner piper plans with these, as "
      "Piper's program does,\n"
      "and with --option memory=BYTES of a device by their count. The file does not say in what its times "
      "are: of those published, BERT is in "
      "seconds, GNMT\n"
      "and ResNet in milliseconds (Piper's own program takes all for seconds). Edges keep their sizes; where "
      "those of a\n"
      "layer differ, the largest counts. In the published BERT file those of hidden states and masks are "
      "swapped from the\n"
      "second layer on.\n\n"
      "Example:\n"
      "  penstock import piper-json resnet.json --unit ms -o piper_resnet.json --costs piper_resnet.yaml\n"
      "  penstock plan --model piper_resnet.json --costs piper_resnet.yaml --planner piper --mini-batch 64 "
      "\\\n"
      "      --micro-batch 1 --cluster summit --devices 8 --option costs=imported");
  auto flags = std::make_shared<ImportPiperFlags>();
  command->add_option("WORKLOAD", flags->file, "the workload")->required()->type_name("FILE");
  command->add_option("--unit", flags->unit, "unit of its times: s or ms")
      ->required()
      ->type_name("UNIT")
      ->check(one_of({"s", "ms"}));
  flags->outputs.add(*command);
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
