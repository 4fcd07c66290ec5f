#include "penstock/cost/communication.hpp"

#include <algorithm>
#include <utility>

#include "penstock/collective/catalogue.hpp"

namespace penstock::cost {
namespace {

using cluster::Cluster;
using collective::Crowd;
using collective::Passes;
using core::DeviceId;
using Devices = std::vector<DeviceId>;

Crowd crowd_of(const Cluster& cluster, std::span<const Devices> groups) {
  Crowd crowd(cluster.links().size());
  std::vector<std::size_t> last(crowd.size(), groups.size());  // the group counted last
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t i = 0; i < groups[g].size() && groups[g].size() > 1; ++i)
      for (const std::size_t l : cluster.route(groups[g][i], groups[g][(i + 1) % groups[g].size()]).links)
        if (std::exchange(last[l], g) != g) ++crowd[l];
  return crowd;
}

/// All groups at once, by the algorithms that fit every one of them: the slowest counts.
AllReduce of_groups(const Cluster& cluster, std::span<const Devices> groups, Passes passes) {
  AllReduce out;
  if (std::ranges::any_of(groups, [](const Devices& group) { return group.size() < 2; })) return out;
  const Crowd crowd = groups.size() == 1 ? Crowd() : crowd_of(cluster, groups);
  for (const collective::Algorithm& each : collective::algorithms()) {
    const auto fits = [&](const Devices& group) { return each.fits(cluster, group); };
    if (each.closed_form == nullptr || (passes == Passes::one && !each.scatters)) continue;
    if (!std::ranges::all_of(groups, fits)) continue;
    Affine& slowest = out.algorithms.emplace_back();
    for (const Devices& group : groups) {
      const Affine here = each.closed_form(cluster, group, passes, crowd);
      slowest = {std::max(slowest.latency, here.latency), std::max(slowest.per_byte, here.per_byte)};
    }
  }
  return out;
}

}  // namespace

core::Seconds AllReduce::time(core::Bytes bytes) const {
  if (algorithms.empty() || bytes.value() == 0) return core::Seconds(0);
  double best = algorithms.front().at(bytes);
  for (const Affine& algorithm : algorithms) best = std::min(best, algorithm.at(bytes));
  return core::Seconds(best);
}

AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const DeviceId> devices) {
  const Devices one(devices.begin(), devices.end());
  return of_groups(cluster, {&one, 1}, Passes::two);
}

AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const Devices> groups) {
  return of_groups(cluster, groups, Passes::two);
}

AllReduce all_gather(const cluster::Cluster& cluster, std::span<const Devices> groups) {
  return of_groups(cluster, groups, Passes::one);
}

Affine all_to_all(const cluster::Cluster& cluster, std::span<const DeviceId> devices) {
  const auto n = static_cast<double>(devices.size());
  collective::Step step;
  for (const DeviceId a : devices)
    for (const DeviceId b : devices)
      if (a != b) step.include(cluster, cluster.route(a, b), {});
  return {(n - 1) * step.latency, (n - 1) / (n * n) * step.per_byte};
}

}  // namespace penstock::cost
