#include "penstock/cost/communication.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace penstock::cost {
namespace {

using cluster::Cluster;
using core::DeviceId;
using Devices = std::vector<DeviceId>;

/// Who else uses the links of a group: [link] groups that send over it in a step, empty where there is one
/// group.
using Crowd = std::vector<int>;

/// The slowest of the routes a -> b over which one step sends, as time per message.
struct Slowest {
  double latency = 0;
  double per_byte = 0;
  void include(const Cluster& cluster, const cluster::Route& route, const Crowd& crowd) {
    latency = std::max(latency, route.latency.value());
    per_byte = std::max(per_byte, 1 / route.bandwidth.value());
    if (crowd.empty()) return;
    for (const std::size_t l : route.links)
      per_byte = std::max(per_byte, crowd[l] / cluster.links()[l].bandwidth.value());
  }
};

Slowest ring_step(const Cluster& cluster, std::span<const DeviceId> devices, const Crowd& crowd) {
  Slowest step;
  for (std::size_t i = 0; i < devices.size(); ++i)
    step.include(cluster, cluster.route(devices[i], devices[(i + 1) % devices.size()]), crowd);
  return step;
}

/// `passes` = 1 for a reduce-scatter or an all-gather, 2 for both.
Affine ring(const Cluster& cluster, std::span<const DeviceId> devices, double passes, const Crowd& crowd) {
  const double r = static_cast<double>(devices.size());
  const Slowest step = ring_step(cluster, devices, crowd);
  return {passes * (r - 1) * step.latency, passes * (r - 1) / r * step.per_byte};
}

Affine tree(const Cluster& cluster, std::span<const DeviceId> devices, const Crowd& crowd) {
  Slowest step;
  for (std::size_t i = 1; i < devices.size(); ++i)
    step.include(cluster, cluster.route(devices[i], devices[(i - 1) / 2]), crowd);
  const double steps = 2.0 * static_cast<double>(std::bit_width(devices.size() - 1));
  return {steps * step.latency, steps * step.per_byte};
}

std::map<int, Devices> by_node(const Cluster& cluster, std::span<const DeviceId> devices) {
  std::map<int, Devices> nodes;
  for (DeviceId d : devices) nodes[cluster.node(d)].push_back(d);
  return nodes;
}

bool balanced(const std::map<int, Devices>& nodes) {
  return nodes.size() > 1 && nodes.begin()->second.size() > 1 &&
         std::all_of(nodes.begin(), nodes.end(),
                     [&](const auto& n) { return n.second.size() == nodes.begin()->second.size(); });
}

/// All local ranks ring between the nodes at once and share each node's uplink, so the step between nodes
/// moves `local` shards of bytes / local over it: as many bytes as one rank would.
Affine hierarchical(const Cluster& cluster, const std::map<int, Devices>& nodes, double passes,
                    const Crowd& crowd) {
  Affine inside;
  Devices leaders;
  for (const auto& [node, devices] : nodes) {
    const Affine here = ring(cluster, devices, passes, crowd);
    inside = {std::max(inside.latency, here.latency), std::max(inside.per_byte, here.per_byte)};
    leaders.push_back(devices.front());
  }
  const Affine between = ring(cluster, leaders, passes, crowd);
  return {inside.latency + between.latency, inside.per_byte + between.per_byte};
}

/// `passes` as for ring. A tree gathers no faster than a ring: its root receives everything.
AllReduce of_group(const Cluster& cluster, std::span<const DeviceId> devices, double passes,
                   const Crowd& crowd) {
  if (devices.size() < 2) return {};
  AllReduce out{{ring(cluster, devices, passes, crowd)}};
  if (passes == 2) out.algorithms.push_back(tree(cluster, devices, crowd));
  const auto nodes = by_node(cluster, devices);
  if (balanced(nodes)) out.algorithms.push_back(hierarchical(cluster, nodes, passes, crowd));
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
AllReduce of_groups(const Cluster& cluster, std::span<const Devices> groups, double passes) {
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
  return of_group(cluster, devices, 2, {});
}

AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const Devices> groups) {
  return of_groups(cluster, groups, 2);
}

AllReduce all_gather(const cluster::Cluster& cluster, std::span<const Devices> groups) {
  return of_groups(cluster, groups, 1);
}

Affine all_to_all(const cluster::Cluster& cluster, std::span<const DeviceId> devices) {
  const auto n = static_cast<double>(devices.size());
  Slowest step;
  for (const DeviceId a : devices)
    for (const DeviceId b : devices)
      if (a != b) step.include(cluster, cluster.route(a, b), {});
  return {(n - 1) * step.latency, (n - 1) / (n * n) * step.per_byte};
}

}  // namespace penstock::cost
