// penstock improve: a better plan near one that is given.
#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "framework_flag.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "plan_flags.hpp"
#include "plan_input.hpp"

namespace penstock::cli {
namespace {

struct ImproveFlags {
  std::string file;
  ModelFlags model;
  ClusterFlags cluster;
  CostFlags costs;
  bool layers = false;
  FrameworkFlag framework;
  std::string change = "all";
  std::int64_t evaluations = 6000;
  PlanSearch search;
};

/// The search of `plan --planner joint`, which begins at one plan here.
planners::PlannerChoice search_of(const ImproveFlags& flags) {
  planners::PlannerChoice out{"joint"};
  planners::set_option(out, "change=" + flags.change);
  planners::set_option(out, fmt::format("evaluations={}", flags.evaluations));
  if (flags.layers) planners::set_option(out, "units=layers");
  return out;
}

/// "iteration 2.13 s instead of 2.31 s: 1.08 times as fast".
std::string gained(core::Seconds before, core::Seconds after) {
  if (after > before)
    return fmt::format("the nearest plan that the framework can run is slower: iteration {} instead of {}\n",
                       core::show(after), core::show(before));
  if (!(after < before)) return fmt::format("no plan near is faster: iteration {}\n", core::show(before));
  return fmt::format("iteration {} instead of {}: {:.3f} times as fast\n", core::show(after),
                     core::show(before), before / after);
}

core::ExitCode run(const ImproveFlags& flags, const CommandContext& session) {
  flags.search.check(session.force);
  const ThreadLimit limit(flags.search.threads);
  auto input =
      read_plan(flags.file, flags.model,
                run_by(flags.cluster, flags.costs, flags.file, flags.framework.runnable_by()), flags.costs);
  experiment::complete(input.problem(), input.plan, flags.file);
  const auto assumed = experiment::usual_reserve(input.problem(), input.plan);
  if (assumed) {
    input.plan.cluster.reserved = assumed;
    input.cluster = input.cluster.reserving(*assumed);
  }
  const cost::Problem problem = input.problem();
  const plan::Plan& plan = input.plan;
  sim::SimulationOptions once = flags.search.simulation.options();
  once.stop = session.end_search();
  const core::Seconds before =
      core::to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan), once));
  planners::SearchOptions options;
  options.from = &plan;
  experiment::SearchSetting setting = flags.search.setting(std::move(options));
  FrameworkFlag framework = flags.framework;
  if (flags.change == "all" && !flags.layers) framework.stay_with(plan, problem);
  setting.runnable_by = framework.runnable_by();
  const auto found =
      flags.search.run("improve", problem, {plan.model, plan.cluster, search_of(flags), plan.training, {}},
                       std::move(setting), once.stop);
  auto stated = experiment::stated_by_plan(plan.cluster, problem.cluster, flags.costs.file.has_value());
  stated.reserved = stated.reserved && !assumed;
  experiment::Assumptions assumptions = experiment::assumptions(problem, plan.model, stated);
  if (const auto limited = framework.assumption()) assumptions.push_back(*limited);
  flags.search.leave(problem, found, assumptions, session);
  if (found.reached.aim == experiment::SearchAim::time) say(gained(before, found.outcome.summary->iteration));
  return flags.search.show(problem, found, assumptions);
}

}  // namespace

void add_improve(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "improve", "Improve a plan by local search: keep each change that makes the simulation faster.");
  command->footer(
      "The plan may come from `penstock import megatron`. The search is that of planner joint, started "
      "from this plan only; the result is never slower (with --for, than the nearest plan that the "
      "framework can run). Ctrl-C ends the search with the best plan so far and exit code 30.\n"
      "--change cuts keeps stages, devices, degrees and schedule, and moves only the cuts between "
      "stages. With --for the answer is a plan that the framework can run, with equal degrees in all "
      "stages; with --layers only its stages hold whole layers. A plan that states a framework which can "
      "run it stays such a plan (--for any: all plans). For a plan with colocated stages the "
      "search reassigns branches to devices. For a language model on GPUs the usual memory is reserved (--reserved) if the plan leaves it free.\n"
      "\n"
      "Example:\n"
      "  penstock import megatron train.sh --gpus 8xH100x4 -o run.yaml\n"
      "  penstock improve run.yaml --for megatron -o better.yaml\n"
      "  penstock export better.yaml --to megatron");
  auto flags = std::make_shared<ImproveFlags>();
  command->add_option("PLAN", flags->file, "the plan file")->required()->type_name("FILE");
  flags->model.add(*command, false);
  flags->cluster.add(*command, false);
  flags->costs.add(*command);
  command
      ->add_option("--change", flags->change,
                   "what may change: all, or cuts (only where stages begin and end)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"all", "cuts"}));
  command->add_flag(
      "--layers", flags->layers,
      "stages hold whole layers, as training frameworks need; the model must be a chain of layers");
  flags->framework.add(*command, "the plan's own framework if that can run the plan, else any");
  command->add_option("--evaluations", flags->evaluations, "search budget: number of plans to evaluate")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30).description(""));
  flags->search.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
