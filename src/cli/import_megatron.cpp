// penstock import megatron: a launch script's model and degrees become a plan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "import_command.hpp"
#include "models/catalogue.hpp"
#include "penstock/cluster/reserved.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/assumptions.hpp"
#include "penstock/experiment/plan_input.hpp"
#include "penstock/frameworks/from_megatron.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/plan/strategy.hpp"
#include "penstock/plan/violations.hpp"

namespace penstock::cli {
namespace {

struct ImportMegatronFlags {
  std::string file, output, script_arguments;
  std::vector<std::string> ignored;
  ModelFlags model;  ///< parameters only
  ClusterFlags cluster;
};

/// Reserves the memory that a searched plan leaves to the framework, where this plan leaves as much. Returns
/// a note on it.
std::string reserve_usual(const cost::Problem& problem, plan::Plan& plan) {
  const auto& ref = plan.cluster;
  if (ref.reserved || !cluster::takes_usual_reserve(problem.cluster)) return "";
  const std::string usual = core::show(cluster::reserves().front().bytes);
  plan.cluster.reserved = experiment::usual_reserve(problem, plan);
  if (plan.cluster.reserved) return fmt::format("assumed: {} of each GPU reserved (--reserved)\n", usual);
  return fmt::format("no memory is reserved (--reserved): the plan does not leave {} of each GPU free\n",
                     usual);
}

/// True if every GPU is an Ampere or later: FlashAttention-2 and cuDNN's fused attention need one. Earlier GPUs
/// have no bf16 rate.
bool runs_flash(const cluster::Cluster& cluster) {
  return std::ranges::all_of(cluster.types(), [](const cluster::DeviceType& type) {
    return type.peak[static_cast<std::size_t>(cluster::Precision::bf16)].value() > 0;
  });
}

core::ExitCode run(const ImportMegatronFlags& flags) {
  plan::ClusterRef ref = flags.cluster.ref();
  const cluster::Cluster cluster = experiment::load_cluster(ref);
  ref.devices = static_cast<int>(cluster.size());
  frameworks::MegatronRun read = frameworks::from_megatron(
      core::read_file(flags.file), flags.file, ref, ref.devices, flags.model.ref().parameters, flags.ignored,
      runs_flash(cluster), flags.script_arguments);
  const graph::OpGraph graph = models::build(read.plan.model.name, read.plan.model.parameters);
  if (const auto violations = plan::structural_violations(graph, cluster, read.plan); !violations.empty())
    experiment::refuse(flags.file, violations);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, read.plan.training};
  experiment::derive_in_flight(problem, read.plan, flags.file);
  const std::string reserve = reserve_usual(problem, read.plan);
  core::write_file(flags.output, plan::to_yaml(graph, plan::written_to(flags.output, read.plan)));
  for (const std::string& note : read.notes) say("note: " + note + "\n");
  if (!read.unread.empty()) say(fmt::format("not read: {}\n", fmt::join(read.unread, ", ")));
  print(fmt::format("{}: {}, {:.1f} M parameters, {}\n{}", flags.output, graph.name(),
                    static_cast<double>(graph.parameters()) * 1e-6,
                    plan::in_words(plan::strategy(read.plan, plan::StageGraph(graph, read.plan).depth())),
                    reserve));
  return core::ExitCode::done;
}

}  // namespace

void add_import_megatron(CLI::App& import, Action& action) {
  auto* command = import.add_subcommand("megatron", "Read the arguments of a Megatron-LM run.");
  command->footer(
      "Reads a bash script with arguments of pretrain_gpt.py, or a YAML file with the same names, and "
      "writes a plan: model, tensor-, pipeline-, data-, context- and expert-parallel degrees, virtual "
      "stages, layout, batches, recomputation, sequence parallelism, distributed optimizer, precision. "
      "Arguments that change the computation in a way that Penstock cannot express (multi-token "
      "prediction, 8-bit numbers, FSDP) are refused, and so are arguments that are not known. Arguments that "
      "do not matter here are listed.\n"
      "\n"
      "Examples:\n"
      "  penstock import megatron train.sh --gpus 8xH100x4 -p vocabulary=128256 -o plan.yaml\n"
      "  penstock improve plan.yaml --layers --change cuts -o better.yaml");
  auto flags = std::make_shared<ImportMegatronFlags>();
  command->add_option("SCRIPT", flags->file, "the script, or a file that ends in .yaml")
      ->required()
      ->type_name("FILE");
  command->add_option("-p,--parameter", flags->model.parameters, "parameter of the model, overrides the file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--ignore", flags->ignored,
          "read the file without these arguments, which may change model, time or memory, or take this script for "
          "pretrain_gpt.py; names between commas, may be repeated")
      ->delimiter(',')
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--args", flags->script_arguments,
          "arguments that the script is started with, in one text: --args \"2 4\" makes $1 2 and $2 4")
      ->type_name("TEXT");
  flags->cluster.add(*command, true);
  command->add_option("-o,--output", flags->output, "write the plan file here")
      ->required()
      ->type_name("FILE");
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
