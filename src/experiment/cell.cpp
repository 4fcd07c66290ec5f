#include "penstock/experiment/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "penstock/core/peak_memory.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/imperfection.hpp"
#include "penstock/sim/simulate.hpp"

namespace penstock::experiment {
namespace {

using Clock = std::chrono::steady_clock;

void check(const cost::Problem& problem, const plan::Plan& plan) {
  const auto faults = score::faults(problem, plan);
  if (!faults.empty())
    throw core::Error(core::ExitCode::internal,
                      "planner " + plan.planner + " made an invalid plan: " + faults.front());
}

/// Of one replica of a stage over an iteration.
core::Seconds compute_of(const cost::Problem& problem, const plan::Stage& stage, std::size_t replica) {
  const std::int64_t replicas = stage.replicas(), r = static_cast<std::int64_t>(replica);
  const std::int64_t share = stage.micro_batch * (r + 1) / replicas - stage.micro_batch * r / replicas;
  const cost::OpTime time = cost::stage_time(problem, stage, stage.operators, replica, share).total();
  const core::Seconds again = stage.recompute ? time.forward : core::Seconds(0);
  return (time.total() + again) * static_cast<double>(problem.training.mini_batch / stage.micro_batch);
}

/// Calls planners' evaluations and counts their seconds, over all threads.
class TimedJudge {
 public:
  explicit TimedJudge(std::function<core::Seconds(const plan::Plan&)> judge) : judge_(std::move(judge)) {}
  core::Seconds operator()(const plan::Plan& plan) {
    const auto begin = Clock::now();
    const core::Seconds out = judge_(plan);
    nanoseconds_ += std::chrono::nanoseconds(Clock::now() - begin).count();
    return out;
  }
  double seconds() const { return static_cast<double>(nanoseconds_.load()) * 1e-9; }

 private:
  std::function<core::Seconds(const plan::Plan&)> judge_;
  std::atomic<std::int64_t> nanoseconds_{0};
};

/// The planner's answer, and in the row what it took.
planners::SearchResult measured_search(const cost::Problem& problem, const planners::PlannerChoice& planner,
                                       const SearchSetting& setting, core::StopToken stop,
                                       report::CellResult& row) {
  const auto& info = planners::planner(planner.name);
  planners::check_options(info, planner.options);
  std::optional<core::PeakMemory> memory;
  if (setting.alone) memory.emplace();
  const auto begin = Clock::now();
  sim::SimulationOptions judge = setting.simulation;
  judge.stop = stop;
  planners::SearchOptions options = setting.options;
  options.own = planner.options;
  TimedJudge timed(simulated_time(problem, judge));
  options.evaluate = [&](const plan::Plan& plan) { return timed(plan); };
  options.at_least = [&](const plan::Plan& plan) { return busiest_compute(problem, plan); };
  planners::SearchResult found = info.plan(problem, options, stop);
  row.search_s = std::chrono::duration<double>(Clock::now() - begin).count();
  row.judging_s = timed.seconds();
  row.states = static_cast<std::int64_t>(found.states);
  if (const auto bytes = memory ? memory->growth() : std::nullopt) row.search_memory_bytes = bytes->value();
  if (found.estimate) row.estimate_s = found.estimate->value();
  return found;
}

/// The plan under another schedule; what the planner expected was about its own.
void run_in_order(const cost::Problem& problem, plan::Plan& plan, const std::string& schedule,
                  report::CellResult& row) {
  reschedule(plan, schedule);
  row.estimate_s.reset();
  try {
    score::derive_in_flight(problem, plan);
  } catch (const core::BadInput& e) {
    throw core::Infeasible(e.what());
  }
  const auto faults = score::faults(problem, plan);
  if (!faults.empty()) throw core::Infeasible(faults.front());
}

/// Nothing in an imperfect world: there devices may be faster than their type.
std::optional<double> lower_bound(const cost::Problem& problem, const plan::Plan& plan,
                                  const sim::SimulationOptions& simulation) {
  if (simulation.imperfection) return std::nullopt;
  return score::bound_for(problem, plan, reduction(simulation)).time.value();
}

}  // namespace

std::function<core::Seconds(const plan::Plan&)> simulated_time(const cost::Problem& problem,
                                                               const sim::SimulationOptions& simulation) {
  return [&problem, simulation](const plan::Plan& plan) {
    return to_seconds(sim::simulate_time(problem, plan, score::order_of(problem, plan), simulation));
  };
}

void reschedule(plan::Plan& plan, const std::string& schedule) {
  plan.schedule = schedule;
  for (plan::Stage& stage : plan.stages) {
    stage.in_flight = 0;
    if (schedule != "1f1b") stage.k = 1;
  }
}

core::Seconds busiest_compute(const cost::Problem& problem, const plan::Plan& plan) {
  core::Seconds most(0);
  if (plan::asynchronous(plan)) return most;
  for (const plan::Stage& stage : plan.stages)
    for (std::size_t r = 0; r < static_cast<std::size_t>(stage.replicas()); ++r)
      most = std::max(most, compute_of(problem, stage, r));
  constexpr double kRounding = 1 - 1e-9;  // the simulator counts whole picoseconds
  return most * kRounding;
}

score::Reduction reduction(const sim::SimulationOptions& simulation) {
  const bool apart = simulation.collective == sim::Collective::closed_form && simulation.bucket.value() == 0;
  return apart ? score::Reduction::closed_form : score::Reduction::free;
}

report::CellResult describe(const Cell& cell) {
  report::CellResult row;
  row.model = cell.model.name;
  for (const auto& [key, value] : cell.model.parameters) row.model += " " + key + "=" + value;
  row.cluster = world_name(cell);
  row.devices = cell.cluster.devices;
  row.planner = planners::written(cell.planner);
  row.mini_batch = cell.training.mini_batch;
  row.setting = setting_text(cell);
  return row;
}

report::CellResult describe(const cost::Problem& problem, const Cell& cell) {
  report::CellResult row = describe(cell);
  row.costs = cost::source_of(problem.costs, problem.cluster);
  return row;
}

CellOutcome evaluate(const cost::Problem& problem, const plan::Plan& plan, report::CellResult row,
                     const sim::SimulationOptions& simulation) {
  const plan::StageGraph stages(problem.graph, plan);
  CellOutcome out;
  out.row = std::move(row);
  out.plan = plan;
  out.trace = sim::simulate(problem, plan, score::order_of(problem, plan), simulation);
  out.summary = trace::summarise(*out.trace);
  out.row.micro_batch = plan.stages.front().micro_batch;
  out.row.stages = static_cast<std::int64_t>(plan.stages.size());
  out.row.depth = stages.depth();
  out.row.schedule = plan.schedule;
  if (!out.row.estimate_s) out.row.estimate_s = score::estimate(problem, plan, stages).iteration.value();
  out.row.iteration_s = out.summary->iteration.value();
  out.row.optimism = *out.row.estimate_s / *out.row.iteration_s;
  out.row.lower_bound_s = lower_bound(problem, plan, simulation);
  if (out.row.lower_bound_s.value_or(0) > 0) out.row.gap = *out.row.iteration_s / *out.row.lower_bound_s - 1;
  out.row.samples_per_s = out.summary->samples_per_second;
  out.row.bubble = out.summary->bubble;
  out.row.peak_memory_bytes = out.summary->peak_memory.value();
  out.row.status = "ok";
  return out;
}

CellOutcome search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                   core::StopToken stop) {
  if (setting.time_limit) stop = stop.within(*setting.time_limit);
  std::optional<core::MemoryWatch> watch;
  if (setting.memory_limit) stop = stop.until_full(watch.emplace(*setting.memory_limit).full());
  report::CellResult row = describe(problem, cell);
  planners::SearchResult found = measured_search(problem, cell.planner, setting, stop, row);
  found.plan.model = cell.model;
  found.plan.cluster = cell.cluster;
  found.plan.planner = row.planner;
  check(problem, found.plan);
  if (!cell.schedule.empty()) run_in_order(problem, found.plan, cell.schedule, row);
  sim::SimulationOptions world = setting.simulation;
  if (setting.imperfection) world.imperfection = setting.imperfection;
  CellOutcome out = evaluate(problem, found.plan, std::move(row), world);
  if (!found.complete)
    out.row.status =
        fmt::format("{}: the best plan found until then", stop.memory_full() ? "memory full" : "timed out");
  return out;
}

CellOutcome try_search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                       core::StopToken stop) {
  report::CellResult row = describe(problem, cell);
  try {
    return search(problem, cell, setting, stop);
  } catch (const core::Infeasible& e) {
    row.status = std::string("infeasible: ") + e.what();
  } catch (const core::TimedOut& e) {
    row.status = std::string("timed out: ") + e.what();
  } catch (const core::MemoryFull& e) {
    row.status = std::string("memory full: ") + e.what();
  } catch (const core::Error& e) {
    if (e.code() != core::ExitCode::limit) throw;
    row.status = std::string("limit: ") + e.what();
  }
  return {row, {}, {}, {}};
}

CellOutcome run_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop) {
  const graph::OpGraph graph = load_model(cell.model);
  const cluster::Cluster cluster = load_cluster(cell.cluster);
  const cost::Problem problem{graph, cluster, costs, cell.training, spec.memory};
  SearchSetting setting{{}, cell.simulation, spec.time_limit};
  setting.options.micro_batch = cell.micro_batch;
  setting.options.per_stage_micro_batch = cell.search.per_stage_micro_batch;
  setting.options.any_degree = cell.search.any_degree;
  setting.options.k = cell.search.k;
  setting.options.judge_by_estimate = !spec.choose_by_simulation;
  std::optional<sim::Imperfection> imperfection;
  if (cell.imperfection) imperfection = sim::load_imperfection(*cell.imperfection, cluster);
  setting.imperfection = imperfection ? &*imperfection : nullptr;
  setting.memory_limit = spec.memory_limit;
  setting.alone = spec.memory_limit.has_value();
  return try_search(problem, cell, setting, stop);
}

CellOutcome try_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop) {
  report::CellResult row = describe(cell);
  try {
    return run_cell(spec, cell, costs, stop);
  } catch (const core::Interrupted&) {
    throw;
  } catch (const core::BadInput& e) {
    row.status = std::string("bad input: ") + e.what();
  } catch (const std::exception& e) {
    row.status = std::string("internal: ") + e.what();
  }
  return {row, {}, {}, {}};
}

}  // namespace penstock::experiment
