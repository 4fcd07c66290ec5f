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

AllReduce of_group(const Cluster& cluster, std::span<const DeviceId> devices, Passes passes,
                   const Crowd& crowd) {
  AllReduce out;
  if (devices.size() < 2) return out;
  for (const collective::Algorithm& each : collective::algorithms())
    if (each.closed_form != nullptr && (passes == Passes::two || each.scatters) &&
        each.fits(cluster, devices))
      out.algorithms.push_back(each.closed_form(cluster, devices, passes, crowd));
  return out;
}

Crowd crowd_of(const Cluster& cluster, std::span<const Devices> groups) {
  Crowd crowd(cluster.links().size());
  std::vector<std::size_t> last(crowd.size(), groups.size());  // the group counted last
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t i = 0; i < groups[g].size() && groups[g].size() > 1; ++i)
      for (const std::size_t l : cluster.route(groups[g][i], groups[g][(i + 1) % groups[g].size()]).links)
        if (std::exchange(last[l], g) != g) ++crowd[l];
  return crowd;
}

/// Where the nodes of one group are unbalanced, none counts on the hierarchical way.
AllReduce of_groups(const Cluster& cluster, std::span<const Devices> groups, Passes passes) {
  const Crowd crowd = groups.size() == 1 ? Crowd() : crowd_of(cluster, groups);
  AllReduce slowest = of_group(cluster, groups.front(), passes, crowd);
  for (const Devices& group : groups.subspan(1)) {
    const AllReduce here = of_group(cluster, group, passes, crowd);
    slowest.algorithms.resize(std::min(slowest.algorithms.size(), here.algorithms.size()));
    for (std::size_t a = 0; a < slowest.algorithms.size(); ++a) {
      Affine& most = slowest.algorithms[a];
      most = {std::max(most.latency, here.algorithms[a].latency),
              std::max(most.per_byte, here.algorithms[a].per_byte)};
    }
  }
  return slowest;
}

}  // namespace

core::Seconds AllReduce::time(core::Bytes bytes) const {
  if (algorithms.empty() || bytes.value() == 0) return core::Seconds(0);
  double best = algorithms.front().at(bytes);
  for (const Affine& algorithm : algorithms) best = std::min(best, algorithm.at(bytes));
  return core::Seconds(best);
}

AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const DeviceId> devices) {
  return of_group(cluster, devices, Passes::two, {});
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
