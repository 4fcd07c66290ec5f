#include "tensor/tensor_groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "penstock/core/error.hpp"

namespace penstock::planners {
namespace {

using core::DeviceId;

int split_groups(const cluster::Cluster& cluster, const plan::Stage& stage) {
  int split = 0;
  const auto t = static_cast<std::size_t>(stage.tensor_parallel);
  for (std::size_t first = 0; first < stage.devices.size(); first += t)
    for (std::size_t d = first + 1; d < first + t; ++d)
      if (cluster.node(stage.devices[d]) != cluster.node(stage.devices[first])) {
        ++split;
        break;
      }
  return split;
}

/// Gives the stage its number of devices, from `first` on.
void give(plan::Stage& stage, std::size_t& first) {
  for (DeviceId& device : stage.devices) device = DeviceId(first++);
}

plan::Plan whole_groups_first(const cluster::Cluster& cluster, plan::Plan plan) {
  std::vector<plan::Stage*> waiting;
  for (plan::Stage& stage : plan.stages) waiting.push_back(&stage);
  for (std::size_t device = 0; !waiting.empty();) {
    const auto stays_whole = [&](plan::Stage* stage) {
      std::size_t first = device;
      give(*stage, first);
      return split_groups(cluster, *stage) == 0;
    };
    auto next = std::find_if(waiting.begin(), waiting.end(), stays_whole);
    if (next == waiting.end()) next = waiting.begin();
    give(**next, device);
    waiting.erase(next);
  }
  return plan;
}

plan::Plan largest_groups_first(plan::Plan plan) {
  std::vector<std::size_t> order(plan.stages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return plan.stages[a].tensor_parallel > plan.stages[b].tensor_parallel;
  });
  std::size_t device = 0;
  for (std::size_t s : order) give(plan.stages[s], device);
  return plan;
}

}  // namespace

std::vector<int> tensor_degrees(const cluster::Cluster& cluster, const SearchOptions& options) {
  if (options.max_tensor_parallel && *options.max_tensor_parallel < 1)
    throw core::BadInput("a tensor-parallel group has at least one device");
  std::map<int, int> nodes;
  int most = 1;
  for (std::size_t d = 0; d < cluster.size(); ++d) most = std::max(most, ++nodes[cluster.node(DeviceId(d))]);
  most = std::min(most, options.max_tensor_parallel.value_or(most));
  std::vector<int> out;
  for (int t = 1; t <= most; t *= 2) out.push_back(t);
  return out;
}

int split_groups(const cluster::Cluster& cluster, const plan::Plan& plan) {
  int split = 0;
  for (const plan::Stage& stage : plan.stages) split += split_groups(cluster, stage);
  return split;
}

void unite_groups(const cluster::Cluster& cluster, plan::Plan& plan) {
  if (split_groups(cluster, plan) == 0) return;
  for (const plan::Plan& other : {whole_groups_first(cluster, plan), largest_groups_first(plan)})
    if (split_groups(cluster, other) < split_groups(cluster, plan)) plan = other;
}

}  // namespace penstock::planners
