#include <algorithm>
#include <map>

#include "ring.hpp"

namespace penstock::collective {
namespace {

std::vector<Members> by_node(const cluster::Cluster& cluster, Group group) {
  std::map<int, Members> nodes;
  for (std::size_t i = 0; i < group.size(); ++i) nodes[cluster.node(group[i])].push_back(i);
  std::vector<Members> out;
  for (auto& [node, members] : nodes) out.push_back(std::move(members));
  return out;
}

/// True if there are several nodes with equally many of the devices, at least two.
bool balanced(const cluster::Cluster& cluster, Group group) {
  const auto nodes = by_node(cluster, group);
  return nodes.size() > 1 && nodes.front().size() > 1 &&
         std::all_of(nodes.begin(), nodes.end(),
                     [&](const Members& n) { return n.size() == nodes.front().size(); });
}

std::vector<core::DeviceId> devices_of(Group group, const Members& node) {
  std::vector<core::DeviceId> out;
  for (const std::size_t i : node) out.push_back(group[i]);
  return out;
}

/// Disjoint rings of each node, if all nodes have the same ones and they are faster than a single ring. None:
/// nodes take a single ring. Equal rings leave equal parts to members of one number, which meet between nodes.
DisjointRings inner_rings(const cluster::Cluster& cluster, Group group, const std::vector<Members>& nodes) {
  DisjointRings slowest;
  for (const Members& node : nodes) {
    const auto devices = devices_of(group, node);
    DisjointRings here = disjoint_rings(cluster, devices);
    if (here.rings.empty() || (&node != &nodes.front() && here.rings != slowest.rings) ||
        here.step.per_byte >= ring_time(cluster, devices, PassCount::one, {}).per_byte *
                                  static_cast<double>(node.size()) / static_cast<double>(node.size() - 1))
      return {};
    if (here.step.per_byte > slowest.step.per_byte) slowest = std::move(here);
  }
  return slowest;
}

/// All local ranks form rings between the nodes at once and share each node's uplink. The step between nodes
/// therefore moves `local` shards of bytes / local over it: as many bytes as one rank would.
AffineTime nested_time(const cluster::Cluster& cluster, Group group, PassCount passes, const Crowd& crowd) {
  const auto nodes = by_node(cluster, group);
  const DisjointRings rings = inner_rings(cluster, group, nodes);
  AffineTime inside;
  std::vector<core::DeviceId> leaders;
  for (const Members& node : nodes) {
    const AffineTime here = rings.rings.empty() ? ring_time(cluster, devices_of(group, node), passes, crowd)
                                                : rings_time(rings, passes);
    inside = {std::max(inside.latency, here.latency), std::max(inside.per_byte, here.per_byte)};
    leaders.push_back(group[node.front()]);
  }
  const AffineTime between = ring_time(cluster, leaders, passes, crowd);
  return {inside.latency + between.latency, inside.per_byte + between.per_byte};
}

/// Steps within all nodes at once: with `offset` 0 a reduce-scatter, with 1 an all-gather.
void inside_nodes(MessageRounds& out, const std::vector<Members>& nodes, const std::vector<Members>& rings,
                  std::int64_t bytes, std::size_t offset) {
  for (std::size_t step = 0; step + 1 < nodes.front().size(); ++step) {
    for (const Members& node : nodes) send_step(out, rings, node, bytes, offset, step);
    out.arrive();
  }
}

/// Steps of all rings of shards at once.
void between_nodes(MessageRounds& out, const std::vector<Members>& nodes, const std::vector<Members>& rings,
                   std::int64_t bytes) {
  const std::size_t n = nodes.size(), local = nodes.front().size();
  for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
    for (std::size_t i = 0; i < local; ++i)
      for (std::size_t k = 0; k < n; ++k)
        out.send(nodes[k][i], nodes[(k + 1) % n][i],
                 part(reduced_bytes(rings, bytes, i), n,
                      (k + (step < n - 1 ? 0 : 1) + 3 * n - step % (n - 1)) % n));
    out.arrive();
  }
}

std::vector<Message> nested_messages(const cluster::Cluster& cluster, Group group, std::int64_t bytes) {
  const auto nodes = by_node(cluster, group);
  std::vector<Members> rings = inner_rings(cluster, group, nodes).rings;
  if (rings.empty()) rings = {everybody(nodes.front().size())};
  MessageRounds out(group.size());
  inside_nodes(out, nodes, rings, bytes, 0);
  between_nodes(out, nodes, rings, bytes);
  inside_nodes(out, nodes, rings, bytes, 1);
  return out.take();
}

}  // namespace

/// Ring reduce-scatter in each node, ring all-reduce of the shards between nodes, ring all-gather in each
/// node: two levels of BlueConnect (Cho et al., MLSys 2019). Nodes that are meshes of cables take disjoint
/// rings.
constinit const Algorithm kHierarchical{
    .name = "hierarchical",
    .applies = balanced,
    .closed_form = nested_time,
    .scatters = true,
    .messages = nested_messages,
};

}  // namespace penstock::collective
