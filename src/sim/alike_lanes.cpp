#include "alike_lanes.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "alike_copies.hpp"
#include "correspondence.hpp"

namespace penstock::sim {
namespace {

/// Greatest common divisor of all group sizes; 1 if members differ.
std::int64_t most_lanes(const plan::Plan& plan) {
  std::int64_t most = 0;
  for (const plan::Stage& stage : plan.stages) {
    if (!stage.shares.empty()) return 1;
    most = std::gcd(most, stage.replica_size());
  }
  return most;
}

/// True if all groups have one size: then messages go between members with equal positions.
bool of_one_size(const plan::Plan& plan) {
  return std::ranges::all_of(plan.stages, [&](const plan::Stage& stage) {
    return stage.replica_size() == plan.stages.front().replica_size();
  });
}

/// Distribution of the members of a group to lanes.
struct LaneDeal {
  std::int64_t lanes;
  bool in_turn;  ///< true: members go to lanes in turn; false: lanes are runs of neighbours
};

/// Appends the members of every group of a stage that belong to a lane.
void append_lane(const plan::Stage& stage, const LaneDeal& deal, std::int64_t lane,
                 std::vector<core::DeviceId>& out) {
  const std::int64_t size = stage.replica_size(), width = size / deal.lanes;
  for (std::int64_t replica = 0; replica < stage.replicas(); ++replica)
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t member = deal.in_turn ? i * deal.lanes + lane : lane * width + i;
      out.push_back(stage.devices[static_cast<std::size_t>(replica * size + member)]);
    }
}

/// Returns the plan with its devices sorted lane by lane.
plan::Plan lane_by_lane(const plan::Plan& plan, const LaneDeal& deal) {
  plan::Plan out = plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    out.stages[s].devices.clear();
    for (std::int64_t lane = 0; lane < deal.lanes; ++lane)
      append_lane(plan.stages[s], deal, lane, out.stages[s].devices);
  }
  return out;
}

plan::Plan first_lane_of(const LaneDeal& deal, const plan::Plan& plan) {
  plan::Plan out = plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    plan::Stage& stage = out.stages[s];
    stage.devices.clear();
    append_lane(plan.stages[s], deal, 0, stage.devices);
    stage.context_parallel = 1;
    stage.tensor_parallel = static_cast<int>(plan.stages[s].replica_size() / deal.lanes);
  }
  return out;
}

/// True if messages divide into equal parts; messages over a boundary have whole samples.
bool in_equal_parts(const cost::Problem& problem, const plan::StageGraph& stages, const plan::Plan& plan) {
  const auto size = [&](core::StageId id) { return plan.stages[id.index()].replica_size(); };
  return problem.training.compression.activations == 1 &&
         std::ranges::all_of(stages.boundaries(), [&](const plan::StageBoundary& boundary) {
           return boundary.bytes.value() % std::max(size(boundary.from), size(boundary.to)) == 0;
         });
}

/// Forward passes of all devices.
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
  std::int64_t most = most_lanes(plan);
  if (most == 1 || passes(plan) < kFewPasses || !may_fold(problem, plan, options) ||
      !in_equal_parts(problem, stages, plan))
    return std::nullopt;
  std::optional<plan::Plan> out;
  PointCorrespondence correspondence(problem);
  const bool in_turn = !of_one_size(plan);
  for (std::int64_t lanes = most; lanes > 1; --lanes) {
    if (most % lanes != 0) continue;
    const plan::Plan& now = out ? *out : plan;
    const LaneDeal deal{lanes, in_turn};
    if (!correspondence.holds(lane_by_lane(now, deal), static_cast<std::size_t>(lanes))) continue;
    out = first_lane_of(deal, now);
    most /= lanes;
    lanes = most + 1;  // lanes of this lane
  }
  return out;
}

}  // namespace penstock::sim
