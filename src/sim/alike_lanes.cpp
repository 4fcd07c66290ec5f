#include "alike_lanes.hpp"

#include <algorithm>
#include <vector>

#include "alike_copies.hpp"
#include "correspondence.hpp"

namespace penstock::sim {
namespace {

/// Devices of a replica, in all stages; 1 where these differ, or their members.
std::int64_t group_size(const plan::Plan& plan) {
  const std::int64_t size = plan.stages.front().replica_size();
  const bool same = std::ranges::all_of(plan.stages, [&](const plan::Stage& stage) {
    return stage.replica_size() == size && stage.shares.empty();
  });
  return same ? size : 1;
}

/// The members of every group from the first of these on, as many as there are in a lane.
void append_lane(const plan::Stage& stage, std::int64_t first, std::int64_t width,
                 std::vector<core::DeviceId>& out) {
  for (std::int64_t replica = 0; replica < stage.replicas(); ++replica) {
    const auto begin = stage.devices.begin() + replica * stage.replica_size() + first;
    out.insert(out.end(), begin, begin + width);
  }
}

/// Lane by lane.
plan::Plan lane_by_lane(const plan::Plan& plan, std::int64_t lanes) {
  plan::Plan out = plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const std::int64_t width = stage.replica_size() / lanes;
    out.stages[s].devices.clear();
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      append_lane(stage, lane * width, width, out.stages[s].devices);
  }
  return out;
}

plan::Plan first_lane_of(std::int64_t lanes, const plan::Plan& plan) {
  plan::Plan out = plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    plan::Stage& stage = out.stages[s];
    const auto width = static_cast<int>(stage.replica_size() / lanes);
    stage.devices.clear();
    append_lane(plan.stages[s], 0, width, stage.devices);
    stage.context_parallel = 1;
    stage.tensor_parallel = width;
  }
  return out;
}

/// Messages that follow a boundary have whole samples.
bool in_equal_parts(const cost::Problem& problem, const plan::StageGraph& stages, std::int64_t parts) {
  return problem.training.compression.activations == 1 &&
         std::ranges::all_of(stages.boundaries(), [&](const plan::Boundary& boundary) {
           return boundary.bytes.value() % parts == 0;
         });
}

/// Forward, of all devices.
std::int64_t passes(const plan::Plan& plan) {
  std::int64_t out = 0;
  for (const plan::Stage& stage : plan.stages)
    out += plan.training.mini_batch / stage.micro_batch * static_cast<std::int64_t>(stage.devices.size());
  return out;
}

constexpr std::int64_t kFewPasses = 4096;

}  // namespace

std::optional<plan::Plan> one_lane(const cost::Problem& problem, const plan::StageGraph& stages,
                                   const plan::Plan& plan, const SimulationOptions& options) {
  std::int64_t size = group_size(plan);
  if (size == 1 || passes(plan) < kFewPasses || !may_fold(problem, plan, options) ||
      !in_equal_parts(problem, stages, size))
    return std::nullopt;
  std::optional<plan::Plan> out;
  Correspondence correspondence(problem);
  for (std::int64_t lanes = size; lanes > 1; --lanes) {
    if (size % lanes != 0) continue;
    const plan::Plan& now = out ? *out : plan;
    if (!correspondence.holds(lane_by_lane(now, lanes), static_cast<std::size_t>(lanes))) continue;
    out = first_lane_of(lanes, now);
    size /= lanes;
    lanes = size + 1;  // lanes of this one
  }
  return out;
}

}  // namespace penstock::sim
