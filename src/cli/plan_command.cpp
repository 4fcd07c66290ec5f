#include <fmt/format.h>

#include "command.hpp"
#include "plan_flags.hpp"
#include "problem_flags.hpp"

namespace penstock::cli {
namespace {

struct PlanFlags {
  ProblemFlags problem;
  std::string planner = "joint";
  std::vector<std::string> planner_options;
  planners::SearchOptions options;
  std::int64_t micro_batch = 0, pipeline_micro_batch = 0;
  std::string choose_by = "simulation";
  int top = 1;
  PlanSearch search;
};

planners::PlannerChoice chosen(const PlanFlags& flags) {
  planners::PlannerChoice out{flags.planner};
  for (const std::string& option : flags.planner_options) planners::set_option(out, option);
  return out;
}

/// Plans are ranked as they are judged.
void check_top(const PlanFlags& flags, const cluster::Cluster& cluster) {
  if (flags.top == 1) return;
  if (flags.choose_by == "estimate")
    throw core::BadInput("--top ranks plans that were simulated: it does not go with --choose-by estimate");
  if (flags.search.aim.setting(cluster).aim != experiment::Aim::time)
    throw core::BadInput("--top ranks plans by time: it goes with --aim time alone");
}

core::ExitCode run(const PlanFlags& flags, const Session& session) {
  flags.search.check(session.force);
  const ThreadLimit limit(flags.search.threads);
  const auto planner = from_command_line([&] { return chosen(flags); });
  LoadedProblem loaded = flags.problem.load();
  loaded.cell.planner = planner;
  const cost::Problem problem = loaded.problem();
  from_command_line([&] { check_top(flags, problem.cluster); });
  experiment::SearchSetting setting = flags.search.setting(flags.options);
  if (flags.micro_batch > 0) setting.options.micro_batch = flags.micro_batch;
  if (flags.pipeline_micro_batch > 0) setting.options.pipeline_micro_batch = flags.pipeline_micro_batch;
  setting.options.judge_by_estimate = flags.choose_by == "estimate";
  setting.top = static_cast<std::size_t>(flags.top);

  const auto found = flags.search.run(written(planner), problem, loaded.cell, setting, session.end_search());
  flags.search.leave(problem, found, loaded.assumptions, session);
  return flags.search.show(problem, found, loaded.assumptions);
}

/// What decides the search, beside the problem.
void add_search(CLI::App& command, PlanFlags& flags) {
  command
      .add_option("--micro-batch", flags.micro_batch,
                  "pin the samples that a replica takes at a time, in every stage; where replicas split a "
                  "micro-batch, stages then "
                  "have equally many, unless --per-stage-micro-batch; default: all powers of two are tried")
      ->check(samples())
      ->type_name("b");
  command
      .add_option("--pipeline-micro-batch", flags.pipeline_micro_batch,
                  "pin instead the samples that flow through all stages at a time, whose replicas split them "
                  "(GraphPipe's b); not for planners whose replicas take whole micro-batches")
      ->check(samples())
      ->type_name("b");
  command.add_flag("--per-stage-micro-batch", flags.options.per_stage_micro_batch,
                   "let every stage have a size of its own");
  command.add_option("--k", flags.options.k, "k of the kFkB schedule")
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->type_name("K")
      ->capture_default_str();
  command.add_flag("--any-degree", flags.options.any_degree,
                   "try replica counts of any size, not only powers of two");
  command
      .add_option(
          "--top", flags.top,
          "also show the next best plans that the planner judged, N in all, each of another kind: other "
          "degrees of parallelism, another schedule, ZeRO stage or recomputation in most stages; none more "
          "than 1.5 "
          "times as slow as the best. The search takes longer. -o writes the best")
      ->capture_default_str()
      ->check(CLI::Range(1, 50).description(""))
      ->type_name("N");
  command
      .add_option("--choose-by", flags.choose_by,
                  "what picks the best micro-batch size: simulation or estimate. The estimate, a closed "
                  "formula, is faster")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"simulation", "estimate"}));
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "plan", "Find a plan for one model on one cluster, simulate it, and write the plan file.");
  command->footer(
      "Prints one line per stage: operators, devices, micro-batch of a replica, samples in flight, time per "
      "sample, memory\n"
      "by kind per device; then the plan in one line (pipeline-, data- and tensor-parallel degrees, "
      "schedule, micro-batch of\n"
      "a replica, ZeRO stage, stages that recompute) with its throughput, model FLOP/s of a GPU and their "
      "share of its peak\n"
      "(MFU; recomputation counts as no work); then depth, estimated and simulated iteration, lower bounds "
      "and what the\n"
      "search took. Every plan uses all devices (--devices), so that more devices can be slower.\n\n"
      "Examples:\n"
      "  penstock plan --model mmt --cluster summit --devices 8 --mini-batch 128 "
      "-o plan.yaml\n"
      "  penstock plan --model dlrm -p bag=concat --planner spp --cluster dgx_a100 "
      "\\\n"
      "      --mini-batch 4096 --optimizer adam --json");
  auto flags = std::make_shared<PlanFlags>();
  flags->problem.add_problem(*command);
  command
      ->add_option(
          "--planner", flags->planner,
          "planner that searches (penstock planners). joint asks others and changes the best answers as "
          "whole plans: seconds for a hundred GPUs, a minute for a thousand, where --time-limit or Ctrl-C "
          "ends "
          "it with the best so far; graphpipe or megatron answer sooner")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of(planner_names()));
  command
      ->add_option("--option", flags->planner_options,
                   "an option of this planner; may be repeated (penstock planners lists them)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_search(*command, *flags);
  flags->problem.add_training(*command);
  flags->search.add(*command);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
