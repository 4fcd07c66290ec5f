#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "framework_flag.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/experiment/search_limit.hpp"
#include "penstock/graph/work.hpp"
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
  FrameworkFlag framework;
  int top = 1;
  bool bound = false;
  std::optional<double> gap;
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
    throw core::BadInput("--top needs simulated plans; it cannot be used with --choose-by estimate");
  if (flags.search.aim.setting(cluster).aim != experiment::SearchAim::time)
    throw core::BadInput("--top ranks plans by time; it needs --aim time");
}

/// --bound and --gap need a bound on plans of the framework.
void check_bound(const PlanFlags& flags, const cost::Problem& problem) {
  if (flags.gap && flags.planner != "joint")
    throw core::BadInput(fmt::format("--gap ends the search of joint; --planner is {}", flags.planner));
  if (flags.gap || flags.bound)
    experiment::check_bounded(flags.gap ? "--gap" : "--bound", flags.framework.runnable_by(), problem);
}

/// The result of the search. Where nothing fits, the error names the command that finds the number of devices. That
/// command needs the tokens of a sample and a device with a name.
template <class Search>
auto or_size_hint(const LoadedProblem& loaded, const Search& search) {
  try {
    return search();
  } catch (const core::Infeasible& error) {
    const std::string why = error.what();
    const bool known = std::ranges::count(cluster::rented(), loaded.cluster.type(core::DeviceId(0)).name,
                                          &cluster::RentedGpu::type) > 0;
    if (!known || !graph::tokens(loaded.graph) || why.find(" fit") == why.npos) throw;
    throw core::Infeasible(why + "\n`penstock size` finds how many devices this model needs");
  }
}

core::ExitCode run(PlanFlags flags, const CommandContext& session) {
  flags.search.check(session.force);
  const ThreadLimit limit(flags.search.threads);
  auto planner = from_command_line([&] { return chosen(flags); });
  LoadedProblem loaded = flags.framework.load(flags.problem);
  if (loaded.whole_layers) experiment::keep_layers_whole(planner);
  loaded.cell.planner = planner;
  const cost::Problem problem = loaded.problem();
  check_bound(flags, problem);
  from_command_line([&] { check_top(flags, problem.cluster); });
  experiment::SearchSetting setting = flags.search.setting(flags.options);
  if (flags.micro_batch > 0) setting.options.micro_batch = flags.micro_batch;
  if (flags.pipeline_micro_batch > 0) setting.options.pipeline_micro_batch = flags.pipeline_micro_batch;
  setting.options.judge_by_estimate = flags.choose_by == "estimate";
  setting.top = static_cast<std::size_t>(flags.top);
  setting.runnable_by = flags.framework.runnable_by();
  if (flags.gap) setting.gap = *flags.gap / 100;
  setting.bound_runnable =
      flags.bound || flags.gap ? experiment::BoundEffort::any_wait : experiment::BoundEffort::short_wait;

  const auto found = or_size_hint(loaded, [&] {
    return flags.search.run(flags.framework.named(planner), problem, loaded.cell, setting,
                            session.end_search());
  });
  flags.search.leave(problem, found, loaded.assumptions, session);
  return flags.search.show(problem, found, loaded.assumptions);
}

/// Flags that decide the search, beside the problem.
void add_search(CLI::App& command, PlanFlags& flags) {
  command
      .add_option(
          "--micro-batch", flags.micro_batch,
          "samples that a replica takes at a time, in every stage. Also forces equal replica counts per "
          "stage, for planners whose replicas split a micro-batch, unless --per-stage-micro-batch. "
          "Default: all powers of two are tried")
      ->check(samples())
      ->type_name("b");
  command
      .add_option("--pipeline-micro-batch", flags.pipeline_micro_batch,
                  "samples of a micro-batch over all replicas of a stage (GraphPipe's b), instead of "
                  "--micro-batch; not for planners whose replicas take whole micro-batches")
      ->check(samples())
      ->type_name("b");
  command.add_flag("--per-stage-micro-batch", flags.options.per_stage_micro_batch,
                   "allow a different micro-batch size in every stage");
  command.add_option("--k", flags.options.k, "k of the kFkB schedule")
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->type_name("K")
      ->capture_default_str();
  command.add_flag("--any-degree", flags.options.any_degree,
                   "try all replica counts, not only powers of two");
  command
      .add_option(
          "--top", flags.top,
          "show the N best plans of different kinds (degrees of parallelism, schedule, ZeRO stage or "
          "recomputation differ in most stages), at most 1.5 times as slow as the best. The search takes "
          "longer. -o writes the best")
      ->capture_default_str()
      ->check(CLI::Range(1, 50).description(""))
      ->type_name("N");
  command.add_flag("--bound", flags.bound,
                   "compute what no plan of the framework (--for) beats, also where that takes longer than a "
                   "second or two, as on more than about 512 devices");
  command
      .add_option("--gap", flags.gap,
                  "end the search of joint once its plan is at most P % slower than what no plan of the "
                  "framework (--for) beats")
      ->check(CLI::Range(0.0, 1000.0).description(""))
      ->type_name("P");
  command
      .add_option("--choose-by", flags.choose_by,
                  "how to choose the micro-batch size: by simulation, or by estimate (a formula, faster)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"simulation", "estimate"}));
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "plan", "Find a plan for one model on one cluster, simulate it, and write the plan file.");
  command->footer(
      "The output has one line per stage: operators, devices, micro-batch of a replica, time per "
      "sample, memory per device; --columns all adds samples in flight and memory by kind. Then it "
      "prints the plan in one line (pipeline-, data- and tensor-parallel degrees, schedule, "
      "micro-batch of a replica, ZeRO stage, recomputation), its throughput, FLOP/s per GPU and MFU "
      "(recomputation does not count as work), iteration times, lower bounds, the cost of the search, "
      "and all assumptions. Every plan uses all devices (--devices), so more devices can be slower.\n"
      "\n"
      "Examples:\n"
      "  penstock plan --model llama3-70b --gpus 8xH100x12 -o plan.yaml\n"
      "  penstock plan --model mmt --cluster summit --devices 8 --mini-batch 128 -o plan.yaml\n"
      "  penstock plan --model dlrm -p bag=concat --planner spp --cluster dgx_a100 \\\n"
      "      --mini-batch 4096 --optimizer adam --json");
  auto flags = std::make_shared<PlanFlags>();
  flags->problem.add_problem(*command);
  command
      ->add_option(
          "--planner", flags->planner,
          "planner (penstock planners). joint starts from the plans of all others and improves the best of "
          "them: seconds for a hundred GPUs, a minute for a thousand; --time-limit or Ctrl-C ends it with "
          "the best plan so far. megatron and graphpipe are faster")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of(planner_names()));
  command
      ->add_option("--option", flags->planner_options,
                   "option of this planner; can be repeated (penstock planners NAME lists them)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  flags->framework.add(*command);
  add_search(*command, *flags);
  flags->problem.add_training(*command);
  flags->search.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
