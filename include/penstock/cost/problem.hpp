#pragma once
// Everything a planner is told.

#include "penstock/cost/cost_model.hpp"
#include "penstock/cost/stage_load.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::cost {

/// References outlive the problem; all are immutable.
struct Problem {
  const graph::OpGraph& graph;
  const cluster::Cluster& cluster;
  const CostModel& costs;
  plan::Training training;
  MemoryRule memory{};
};

inline StageLoad stage_load(const Problem& problem, std::span<const core::OpId> operators) {
  return stage_load(problem.graph, problem.costs, operators);
}

/// Seconds of a set of operators over `samples` on one device of type `device`: of its kernels alone, and
/// with a host that launches them (cost/host.hpp).
OpTime device_time(const Problem& problem, std::span<const core::OpId> operators,
                   const cluster::DeviceType& device, std::int64_t samples);
OpTime compute_time(const Problem& problem, std::span<const core::OpId> operators,
                    const cluster::DeviceType& device, std::int64_t samples);

}  // namespace penstock::cost
