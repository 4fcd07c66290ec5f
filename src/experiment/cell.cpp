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

}  // namespace

std::function<core::Seconds(const plan::Plan&)> simulated_time(const cost::Problem& problem,
                                                                     const sim::SimulationOptions& simulation) {
  return [&problem, simulation](const plan::Plan& plan) {
    return to_seconds(sim::simulate_time(problem, plan, score::order_of(problem, plan), simulation));
  };
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
  out.row.estimate_s = score::estimate(problem, plan, stages).iteration.value();
  out.row.iteration_s = out.summary->iteration.value();
  out.row.samples_per_s = out.summary->samples_per_second;
  out.row.bubble = out.summary->bubble;
  out.row.peak_memory_bytes = out.summary->peak_memory.value();
  out.row.status = "ok";
  return out;
}

CellOutcome run_cell(const Spec& spec, const Cell& cell, const cost::CostModel& costs, core::StopToken stop) {
  const graph::OpGraph graph = load_model(cell.model);
  const cluster::Cluster cluster = load_cluster(cell.cluster);
  const cost::Problem problem{graph, cluster, costs, cell.training, spec.memory};
  report::CellResult row = describe(cell);
  planners::SearchOptions options;
  options.micro_batch = cell.micro_batch;
  options.evaluate = simulated_time(problem, spec.simulation);
  options.judge_by_estimate = !spec.choose_by_simulation;
  const auto begin = Clock::now();
  try {
    auto found = planners::planner(cell.planner).plan(problem, options, stop);
    plan::Plan& plan = found.plan;
    const std::chrono::duration<double> search = Clock::now() - begin;
    plan.model = cell.model;
    plan.cluster = cell.cluster;
    plan.planner = cell.planner;
    check(problem, plan);
    row.search_s = search.count();
    CellOutcome out = evaluate(problem, plan, std::move(row), spec.simulation);
    if (found.estimate) out.row.estimate_s = found.estimate->value();
    return out;
  } catch (const core::Infeasible& e) {
    row.status = std::string("infeasible: ") + e.what();
    return {row, {}, {}, {}};
  } catch (const core::Error& e) {
    if (e.code() != core::ExitCode::limit) throw;
    row.status = std::string("limit: ") + e.what();
    return {row, {}, {}, {}};
  }
}

}  // namespace penstock::experiment
