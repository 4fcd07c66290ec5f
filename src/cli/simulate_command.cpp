#include <fmt/format.h>

#include "command.hpp"
#include "penstock/core/files.hpp"
#include "penstock/plan/faults.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/verify.hpp"
#include "plan_report.hpp"

namespace penstock::cli {
namespace {

struct Flags {
  std::string file;
  ModelFlags model;
  ClusterFlags cluster;
  std::optional<std::string> costs;
  SimulationFlags simulation;
  TimelineFlags timeline;
  bool verify = false;
  bool json = false;
};

[[noreturn]] void refuse(const std::string& file, const std::vector<std::string>& faults) {
  std::string message = file + ": the plan is not valid";
  for (const std::string& fault : faults) message += "\n  " + fault;
  throw core::Error(core::ExitCode::invalid_plan, message);
}

void verify(const cost::Problem& problem, const plan::Plan& plan, const trace::Trace& trace) {
  const auto faults = sim::trace_faults(problem, plan, schedule::plan_order(plan), trace);
  if (!faults.empty()) throw core::Error(core::ExitCode::internal, "the simulation breaks a rule: " + faults.front());
}

/// The plan's own model and cluster, unless flags say otherwise.
plan::PlanHead head_of(const Flags& flags, const std::string& text) {
  plan::PlanHead head = plan::parse_plan_head(text, flags.file);
  if (flags.model.name.empty() && !flags.model.parameters.empty())
    throw core::BadInput("-p belongs to --model; the plan's own model keeps the plan's parameters");
  if (!flags.model.name.empty()) head.model = flags.model.ref();
  if (!flags.cluster.file.empty()) head.cluster.name = flags.cluster.file;
  if (flags.cluster.devices > 0) head.cluster.devices = flags.cluster.devices;
  return head;
}

core::ExitCode run(const Flags& flags, const Session&) {
  const std::string text = core::read_file(flags.file);
  const plan::PlanHead head = head_of(flags, text);
  const graph::OpGraph graph = experiment::load_model(head.model);
  const cluster::Cluster cluster = experiment::load_cluster(head.cluster);
  plan::Plan plan = plan::parse_plan(text, flags.file, graph);
  plan.model = head.model;
  plan.cluster = head.cluster;
  if (const auto faults = plan::structural_faults(graph, cluster, plan); !faults.empty()) refuse(flags.file, faults);
  schedule::derive_in_flight(plan, plan::StageGraph(graph, plan));
  const auto costs = experiment::load_costs(flags.costs);
  const cost::Problem problem{graph, cluster, *costs, plan.training};
  if (const auto faults = score::faults(problem, plan); !faults.empty()) refuse(flags.file, faults);

  const auto outcome = experiment::evaluate(
      problem, plan, experiment::describe({plan.model, plan.cluster, plan.planner, plan.training, {}}),
      flags.simulation.options());
  if (flags.verify) verify(problem, plan, *outcome.trace);
  flags.timeline.write(outcome, cluster);
  fmt::print("{}", flags.json ? plan_json(problem, outcome) : plan_table(problem, outcome));
  return core::ExitCode::done;
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("simulate", "Check a plan file, found or written by hand, and simulate one iteration.");
  auto flags = std::make_shared<Flags>();
  command->footer(
      "Model and cluster are those the plan names, unless given here. A stage without in_flight gets the count that 1F1B\n"
      "needs. A plan that breaks a rule or does not fit in memory is refused with every fault in words.\n\n"
      "Example:\n"
      "  penstock simulate plan.yaml --svg timeline.svg --perfetto trace.pftrace");
  command->add_option("PLAN", flags->file, "the plan file")->required()->type_name("FILE");
  flags->model.add(*command, false);
  flags->cluster.add(*command, false);
  add_costs(*command, flags->costs);
  flags->simulation.add(*command);
  command->add_flag("--verify", flags->verify, "check the simulation by rules of its own: order, messages, memory");
  flags->timeline.add(*command);
  add_json(*command, flags->json);
  command->callback([flags, &action] { action = [flags](const Session& s) { return run(*flags, s); }; });
}

}  // namespace penstock::cli
