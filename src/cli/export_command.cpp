// penstock export: a plan in a training framework's own words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/handover.hpp"
#include "penstock/plan/plan_file.hpp"
#include "plan_input.hpp"

namespace penstock::cli {
namespace {

using frameworks::Framework;

struct ExportFlags {
  std::string file, framework, version, output, csv, nearest;
  ModelFlags model;
  ClusterFlags cluster;
  CostFlags costs;
};

/// The plan to hand over: as it is, or with --nearest the one that is near it; all others are refused.
plan::Plan handed_over(const ExportFlags& flags, const Framework& framework, const cost::Problem& problem,
                       const plan::Plan& plan) {
  const auto able = experiment::runnable(framework, problem, plan, flags.file, !flags.csv.empty());
  if (able.refused.empty()) return plan;
  if (!able.plan || flags.nearest.empty())
    experiment::refuse(framework, able, flags.file, able.plan ? " (--nearest FILE)" : "");
  core::write_file(flags.nearest, plan::to_yaml(problem.graph, plan::written_to(flags.nearest, *able.plan)));
  say(fmt::format("{} cannot run {}; exporting {} instead{}\n", framework.title, flags.file, flags.nearest,
                  experiment::reasons(able)));
  return *able.plan;
}

core::ExitCode run(const ExportFlags& flags) {
  const Framework& framework = frameworks::framework_named(flags.framework, flags.version);
  if (!flags.csv.empty() && !framework.can.any_order)
    throw core::Error(core::ExitCode::usage,
                      "--csv: " + framework.title + " reads no order of passes from a file");
  experiment::PlanInput input = read_plan(
      flags.file, flags.model, run_by(flags.cluster, flags.costs, flags.file, framework.name), flags.costs);
  input.plan.model = experiment::resolved(input.plan.model);  // writers name modules by the zoo's families
  const cost::Problem problem = input.problem();
  experiment::complete(problem, input.plan, fmt::format("{}, as {} runs it", flags.file, framework.title));
  const plan::Plan given = handed_over(flags, framework, problem, input.plan);
  const std::string out = frameworks::exported(framework, input.graph, given, flags.csv);
  if (!flags.csv.empty()) core::write_file(flags.csv, frameworks::order_csv(given));
  if (flags.output.empty())
    print(out);
  else
    core::write_file(flags.output, out);
  return core::ExitCode::done;
}

std::string list_of_frameworks() {
  std::string out;
  for (const Framework& each : frameworks::catalogue())
    out += fmt::format("  {:<11} {} {}: {}\n", each.name, each.title, each.version, each.summary);
  for (const Framework& each : frameworks::older_versions())
    out += fmt::format("  {:<11} with --for-version {}: {}\n", each.name, each.version, each.summary);
  return out;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("export", "Write a plan as arguments or a config of a training framework.");
  command->footer(
      "Frameworks:\n" + list_of_frameworks() +
      "\n"
      "A plan that the framework cannot run is refused (exit code 21). The message says why, and how "
      "much slower the nearest plan is that it can run (whole layers per stage, equal degrees in all "
      "stages). docs/frameworks.md lists what each framework can express.\n"
      "\n"
      "Examples:\n"
      "  penstock plan --model config.json -p sequence=4096 --gpus 8xH100x4 --mini-batch 256 \\\n"
      "      --precision mixed_bf16 --optimizer adam --planner megatron -o plan.yaml\n"
      "  penstock export plan.yaml --to megatron --nearest nearest.yaml\n"
      "  penstock export plan.yaml --to torchtitan --csv schedule.csv -o penstock_job.py");
  auto flags = std::make_shared<ExportFlags>();
  command->add_option("PLAN", flags->file, "the plan file")->required()->type_name("FILE");
  command
      ->add_option("--to", flags->framework,
                   fmt::format("{}", fmt::join(frameworks::framework_names(), ", ")))
      ->required()
      ->type_name("NAME")
      ->check(one_of(frameworks::framework_names()));
  command
      ->add_option("--for-version", flags->version,
                   "release of the framework to write for; default: the release listed below")
      ->type_name("V");
  command->add_option("-o,--output", flags->output, "output file; default: print")->type_name("FILE");
  command
      ->add_option(
          "--csv", flags->csv,
          "also write the order of passes here, for frameworks that read it (torch.distributed.pipelining)")
      ->type_name("FILE");
  command
      ->add_option(
          "--nearest", flags->nearest,
          "if the plan is refused, export the nearest plan that the framework can run, and write that plan "
          "here")
      ->type_name("FILE");
  flags->model.add(*command, false);
  flags->cluster.add(*command, false);
  flags->costs.add(*command);
  command->callback([flags, &action] { action = [flags](const CommandContext&) { return run(*flags); }; });
}

}  // namespace penstock::cli
