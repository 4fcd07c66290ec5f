#include "penstock/experiment/cell.hpp"

#include <chrono>
#include <filesystem>

#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"

namespace penstock::experiment {
namespace {

using Clock = std::chrono::steady_clock;

void check(const cost::Problem& problem, const plan::Plan& plan) {
  const auto faults = score::faults(problem, plan);
  if (!faults.empty())
    throw core::Error(core::ExitCode::internal, "planner " + plan.planner + " made an invalid plan: " + faults.front());
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

score::Reduction reduction(const sim::SimulationOptions& simulation) {
  const bool apart = simulation.collective == sim::Collective::closed_form && simulation.bucket.value() == 0;
  return apart ? score::Reduction::closed_form : score::Reduction::free;
}

report::CellResult describe(const Cell& cell) {
  report::CellResult row;
  row.model = cell.model.name;
  for (const auto& [key, value] : cell.model.parameters) row.model += " " + key + "=" + value;
  row.cluster = std::filesystem::path(cell.cluster.name).stem().string();
  row.devices = cell.cluster.devices;
  row.planner = cell.planner;
  row.mini_batch = cell.training.mini_batch;
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

CellOutcome search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting, core::StopToken stop) {
  const auto begin = Clock::now();
  if (setting.time_limit) stop = stop.within(*setting.time_limit);
  sim::SimulationOptions judge = setting.simulation;
  judge.stop = stop;
  planners::SearchOptions options = setting.options;
  options.evaluate = simulated_time(problem, judge);
  planners::SearchResult found = planners::planner(cell.planner).plan(problem, options, stop);
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  report::CellResult row = describe(cell);
  if (setting.peak_memory) row.search_memory_bytes = setting.peak_memory();
  found.plan.model = cell.model;
  found.plan.cluster = cell.cluster;
  found.plan.planner = cell.planner;
  check(problem, found.plan);
  row.search_s = seconds.count();
  row.states = static_cast<std::int64_t>(found.states);
  if (found.estimate) row.estimate_s = found.estimate->value();
  CellOutcome out = evaluate(problem, found.plan, std::move(row), setting.simulation);
  if (!found.complete) out.row.status = "timed out: the best plan found until then";
  return out;
}

CellOutcome try_search(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting, core::StopToken stop) {
  report::CellResult row = describe(cell);
  try {
    return search(problem, cell, setting, stop);
  } catch (const core::Infeasible& e) {
    row.status = std::string("infeasible: ") + e.what();
  } catch (const core::TimedOut& e) {
    row.status = std::string("timed out: ") + e.what();
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
  SearchSetting setting{{}, spec.simulation, spec.time_limit, {}};
  setting.options.micro_batch = cell.micro_batch;
  setting.options.judge_by_estimate = !spec.choose_by_simulation;
  return try_search(problem, cell, setting, stop);
}

}  // namespace penstock::experiment
