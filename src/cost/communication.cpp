#include "penstock/cost/communication.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace penstock::cost {
namespace {

using cluster::Cluster;
using core::DeviceId;
using Devices = std::vector<DeviceId>;

/// The slowest of the routes a -> b over which one step sends, as time per message.
struct Slowest {
  double latency = 0;
  double per_byte = 0;
  void include(const cluster::Route& route) {
    latency = std::max(latency, route.latency.value());
    per_byte = std::max(per_byte, 1 / route.bandwidth.value());
  }
};

Slowest ring_step(const Cluster& cluster, std::span<const DeviceId> devices) {
  Slowest step;
  for (std::size_t i = 0; i < devices.size(); ++i)
    step.include(cluster.route(devices[i], devices[(i + 1) % devices.size()]));
  return step;
}

/// `passes` = 1 for a reduce-scatter or an all-gather, 2 for both.
Affine ring(const Cluster& cluster, std::span<const DeviceId> devices, double passes) {
  const double r = static_cast<double>(devices.size());
  const Slowest step = ring_step(cluster, devices);
  return {passes * (r - 1) * step.latency, passes * (r - 1) / r * step.per_byte};
}

Affine tree(const Cluster& cluster, std::span<const DeviceId> devices) {
  Slowest step;
  for (std::size_t i = 1; i < devices.size(); ++i) step.include(cluster.route(devices[i], devices[(i - 1) / 2]));
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

/// All local ranks ring between the nodes at once and share each node's uplink, so the step between nodes moves
/// `local` shards of bytes / local over it: as many bytes as one rank would.
Affine hierarchical(const Cluster& cluster, const std::map<int, Devices>& nodes) {
  Affine inside;
  Devices leaders;
  for (const auto& [node, devices] : nodes) {
    const Affine here = ring(cluster, devices, 2);
    inside = {std::max(inside.latency, here.latency), std::max(inside.per_byte, here.per_byte)};
    leaders.push_back(devices.front());
  }
  const Affine between = ring(cluster, leaders, 2);
  return {inside.latency + between.latency, inside.per_byte + between.per_byte};
}

}  // namespace

core::Seconds AllReduce::time(core::Bytes bytes) const {
  if (algorithms.empty() || bytes.value() == 0) return core::Seconds(0);
  double best = algorithms.front().at(bytes);
  for (const Affine& algorithm : algorithms) best = std::min(best, algorithm.at(bytes));
  return core::Seconds(best);
}

AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const DeviceId> devices) {
  if (devices.size() < 2) return {};
  AllReduce out{{ring(cluster, devices, 2), tree(cluster, devices)}};
  const auto nodes = by_node(cluster, devices);
  if (balanced(nodes)) out.algorithms.push_back(hierarchical(cluster, nodes));
  return out;
}

}  // namespace penstock::cost
