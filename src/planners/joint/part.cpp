#include "joint/part.hpp"

#include "penstock/cost/training_state.hpp"

namespace penstock::planners {
namespace {

/// Up to this many devices a direct search is as fast, with better answers.
constexpr std::size_t kAtOnce = 64;
constexpr std::size_t kLeast = 16;  ///< most clusters have a network between this many
constexpr std::size_t kTimes = 4;   ///< half of the devices take nearly as long as all

/// True if devices form runs of this many with equal types, in whole nodes.
bool repeats(const cluster::Cluster& cluster, std::size_t devices) {
  const auto& all = cluster.devices();
  const auto begins_node = [&](std::size_t d) { return d == 0 || all[d].node != all[d - 1].node; };
  for (std::size_t d = devices; d < all.size(); ++d)
    if (all[d].type != all[d - devices].type || begins_node(d) != begins_node(d - devices)) return false;
  return true;
}

/// Memory for weights and their state. If these take more of it, more devices leave more room, and other
/// plans are best.
core::Bytes room_for_state(const cluster::Cluster& cluster, std::size_t devices) {
  constexpr std::int64_t kShare = 4;
  core::Bytes out(0);
  for (std::size_t d = 0; d < devices; ++d) out += cluster.type(core::DeviceId(d)).memory;
  return core::Bytes(out.value() / kShare);
}

}  // namespace

std::vector<std::size_t> part_sizes(const cost::Problem& problem, const SearchOptions& options) {
  std::vector<std::size_t> out;
  if (!options.judge_another || options.from != nullptr || options.pipeline_micro_batch) return out;
  const std::size_t all = problem.cluster.size();
  if (all <= kAtOnce) return out;
  const core::Bytes state = cost::training_state(problem);
  for (std::size_t devices = kLeast; devices * kTimes <= all; ++devices) {
    const auto times = static_cast<std::int64_t>(all / devices);
    if (all % devices == 0 && problem.training.mini_batch % times == 0 && repeats(problem.cluster, devices) &&
        state <= room_for_state(problem.cluster, devices))
      out.push_back(devices);
  }
  return out;
}

PartProblem::PartProblem(const cost::Problem& whole, std::size_t devices)
    : times_(whole.cluster.size() / devices),
      cluster_(whole.cluster.first(static_cast<int>(devices))),
      problem_{whole.graph, cluster_, whole.costs, whole.training, whole.memory} {
  problem_.training.mini_batch /= static_cast<std::int64_t>(times_);
  memo_.serve(problem_);
}

plan::Plan PartProblem::repeated(plan::Plan plan) const {
  const auto times = static_cast<std::int64_t>(times_);
  plan.training.mini_batch *= times;
  for (plan::Stage& stage : plan.stages) {
    const std::size_t own = stage.devices.size();
    for (std::size_t copy = 1; copy < times_; ++copy)
      for (std::size_t d = 0; d < own; ++d)
        stage.devices.emplace_back(stage.devices[d].index() + copy * cluster_.size());
    stage.micro_batch *= times;
    stage.in_flight *= times;
  }
  return plan;
}

}  // namespace penstock::planners
