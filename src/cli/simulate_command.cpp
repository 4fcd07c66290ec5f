#include <fmt/format.h>

#include "command.hpp"
#include "fault_flags.hpp"
#include "penstock/check/trace_violations.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/plan_report.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/out_of_memory.hpp"
#include "perturbed_report.hpp"
#include "plan_flags.hpp"
#include "plan_input.hpp"

namespace penstock::cli {
namespace {

struct SimulateFlags {
  std::string file;
  ModelFlags model;
  ClusterFlags cluster;
  CostFlags costs;
  std::optional<std::string> schedule;
  CompressionFlags compression;
  BucketFlag bucket;
  SimulationFlags simulation;
  PerturbationFlags perturbation;
  int threads = 0;
  TimelineFlags timeline;
  ExplainFlags explain;
  std::optional<std::string> what_if;
  FaultFlags faults;
  bool verify = false;
  bool traffic = false;
  std::string communication = "free";
  bool allow_oom = false;
  bool json = false;
  WideFlag wide;
};

void verify(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled, const trace::Trace& trace,
            const sim::SimulationOptions& options) {
  const auto violations = check::trace_violations(problem, scheduled, trace, options);
  if (!violations.empty())
    throw core::Error(core::ExitCode::internal, "the simulation breaks a rule: " + violations.front());
  say("verified: the simulated run breaks no rule\n");
}

std::vector<experiment::WhatIfChange> changes(const std::string& text) {
  try {
    return experiment::what_if_changes(text);
  } catch (const core::BadInput& e) {
    throw core::Error(core::ExitCode::usage, std::string("--what-if: ") + e.what());
  }
}

/// Flags that show or check one run do not go with many. The verifier checks what routes allow, not their
/// jitter.
void check_combination(const SimulateFlags& flags, const std::optional<sim::Perturbation>& perturbation) {
  if (flags.what_if && (perturbation || flags.perturbation.runs > 1))
    throw core::BadInput("--what-if cannot be used with --perturbation");
  if (flags.traffic && perturbation)
    throw core::BadInput("--traffic cannot be used with --perturbation: it counts full samples");
  const bool one =
      flags.verify || flags.traffic || flags.explain.given() || flags.allow_oom || flags.timeline.given();
  if (flags.perturbation.runs > 1 && one)
    throw core::BadInput(
        "--svg, --perfetto, --verify, --explain, --traffic and --allow-oom need a single run; drop --runs");
  if (flags.perturbation.runs > 1 && !perturbation->draws())
    throw core::BadInput(
        "--runs needs jitter or lengths in the perturbation file; without them all runs are equal");
  if (flags.verify && perturbation && perturbation->jitter.contains(trace::TaskKind::transfer))
    throw core::BadInput(
        "--verify cannot be used with jitter of transfers, which may make one faster than its route");
}

/// A plan that does not fit has been simulated all the same, for its timeline; it stays an invalid plan.
core::ExitCode warn_of_memory(const trace::Summary& summary) {
  for (const trace::OutOfMemory& failure : summary.out_of_memory) warn(trace::in_words(failure));
  return summary.out_of_memory.empty() ? core::ExitCode::done : core::ExitCode::invalid_plan;
}

/// Simulates once, reports the result, and writes the timelines that the flags name.
core::ExitCode one_run(const SimulateFlags& flags, const experiment::PlanInput& input,
                       const schedule::ScheduledPlan& scheduled, const sim::SimulationOptions& options,
                       core::StopToken (*stop)()) {
  const cost::Problem problem = input.problem();
  const plan::Plan& plan = scheduled.plan;
  const auto outcome = experiment::evaluate(problem, scheduled, experiment::describe(problem, plan), options,
                                            flags.verify || flags.timeline.given() || options.perturbation);
  if (flags.verify) verify(problem, scheduled, *outcome.trace, options);
  flags.timeline.write(outcome, problem.cluster);
  experiment::ReportExtras beside;
  beside.memory = true;
  beside.assumptions = experiment::assumptions(
      problem, plan.model,
      experiment::stated_by_plan(plan.cluster, problem.cluster, flags.costs.file.has_value()));
  if (options.perturbation) {
    warn_of_unmet(*options.perturbation, problem.cluster, *outcome.trace);
    const auto perfect = core::to_seconds(sim::simulate_time(problem, scheduled, flags.simulation.options()));
    beside.perturbed = applied(flags.perturbation, *options.perturbation, problem, perfect);
  }
  if (flags.explain.given())
    beside.explained = flags.explain.explained(problem, scheduled, options, outcome.row);
  if (flags.what_if) beside.what_if = experiment::what_if(input, changes(*flags.what_if), options);
  if (const auto failing = flags.faults.setting())
    beside.faults =
        experiment::faults(input, *failing, *outcome.row.samples_per_s, flags.simulation.options(), stop());
  beside.free_order = experiment::free_order_time(problem, scheduled, options);
  if (flags.traffic) beside.traffic = sim::traffic(problem, scheduled);
  const report::ScreenLimits screen = flags.wide.screen();
  if (flags.json)
    for (const std::string& doubt : experiment::doubts(problem, outcome)) warn(doubt);
  if (flags.json)
    print(experiment::plan_json(problem, outcome, options, beside));
  else
    print_page(experiment::plan_table(problem, outcome, options, beside, screen), screen);
  return warn_of_memory(*outcome.summary);
}

core::ExitCode run(const SimulateFlags& flags, const CommandContext& session) {
  if (flags.what_if) changes(*flags.what_if);  // or an error before any work
  const bool failing = flags.faults.setting().has_value();
  if (failing && (!flags.perturbation.file.empty() || flags.allow_oom))
    throw core::BadInput("--mtbf cannot be used with --perturbation or --allow-oom");
  experiment::PlanInput input = read_plan(flags.file, flags.model, flags.cluster, flags.costs);
  plan::Plan& plan = input.plan;
  flags.compression.apply(plan.training.compression);
  flags.bucket.apply(plan.training);
  if (flags.schedule) experiment::reschedule(plan, *flags.schedule);
  const cost::Problem problem = input.problem();
  experiment::complete(problem, plan, flags.file, flags.allow_oom);

  const auto perturbation = flags.perturbation.load(input.cluster);
  check_combination(flags, perturbation);
  sim::SimulationOptions options = flags.simulation.options();
  options.message_order = sim::message_order(flags.communication);
  options.perturbation = perturbation ? &*perturbation : nullptr;
  options.seed = flags.perturbation.seed;
  const ThreadLimit limit(flags.threads);
  const auto scheduled = score::scheduled(problem, plan);
  if (flags.perturbation.runs == 1) return one_run(flags, input, scheduled, options, session.stop);
  const std::string runs =
      runs_report(flags.perturbation, problem, scheduled, options, flags.json, session.stop());
  flags.json ? print(runs) : print_page(runs, flags.wide.screen());
  return core::ExitCode::done;
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "simulate", "Check a plan file, found or written by hand, and simulate one iteration.");
  auto flags = std::make_shared<SimulateFlags>();
  command->footer(
      "Model, cluster and compression come from the plan unless given here. A stage without in_flight "
      "gets the count that the schedule needs. A plan that breaks a rule or does not fit in memory is "
      "refused; the message lists every violation.\n"
      "\n"
      "Example:\n"
      "  penstock simulate plan.yaml --svg timeline.svg --perfetto trace.pftrace\n"
      "  penstock simulate plan.yaml --explain 12\n"
      "  penstock simulate plan.yaml --what-if \"network=200Gb/s, devices=2x, mini_batch=2x\"\n"
      "  penstock simulate plan.yaml --perturbation experiments/imperfect/bad_day.yaml --runs 1000\n"
      "  penstock simulate plan.yaml --mtbf 5h --checkpoint 60s --restart 5min --spares 2 --repair 4h");
  command->add_option("PLAN", flags->file, "the plan file")->required()->type_name("FILE");
  flags->model.add(*command, false);
  flags->cluster.add(*command, false);
  flags->costs.add(*command);
  command
      ->add_option(
          "--schedule", flags->schedule,
          "use another schedule: a family (penstock schedules), list_order, or a schedule file (.csv)")
      ->type_name("NAME|FILE")
      ->check(suggest(schedule_names()));
  flags->compression.add(*command);
  flags->bucket.add(*command);
  flags->simulation.add(*command);
  flags->perturbation.add(*command);
  flags->faults.add(*command);
  add_threads(*command, flags->threads);
  command->get_option("--threads")->needs(command->get_option("--runs"));
  command->add_flag(
      "--verify", flags->verify,
      "check the simulation with an independent verifier: order, times, messages, links, all-reduces, "
      "memory");
  command->add_flag(
      "--allow-oom", flags->allow_oom,
      "simulate even if memory does not suffice; the report and the timeline show where. Exits with 21");
  flags->explain.add(*command);
  command
      ->add_option(
          "--what-if", flags->what_if,
          "simulate the plan with each of these changes, and with all together. KEY=VALUE, separated by "
          "commas; VALUE is a number with a unit, or a factor such as 2x. Keys: devices (changes the "
          "number of replicas), network and node_links (bandwidth between and within nodes, per device), "
          "memory, memory_bandwidth, flops (peak), speed (of all kernels, a factor), micro_batch (of a "
          "replica), mini_batch")
      ->type_name("CHANGES");
  command
      ->add_option(
          "--communication", flags->communication,
          "when messages between stages travel: free (as soon as they can), or in_order (each device "
          "sends and receives one by one, in the order in which PyTorch's pipeline runtime posts them)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"free", "in_order"}));
  command->add_flag("--traffic", flags->traffic,
                    "count what every rank sends in an iteration: collectives by kind and group, messages, "
                    "and their bytes");
  flags->timeline.add(*command);
  add_json(*command, flags->json);
  flags->wide.add(*command);
  command->callback(
      [flags, &action] { action = [flags](const CommandContext& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
