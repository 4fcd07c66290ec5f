#include "changed_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "penstock/cluster/short_form.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/experiment/inputs.hpp"

namespace penstock::experiment {
namespace {

using cluster::Cluster;
using cluster::DeviceType;

/// [link] true if a path between two devices of one node uses it.
std::vector<bool> within_nodes(const Cluster& all) {
  std::map<int, std::vector<core::DeviceId>> nodes;
  for (std::size_t d = 0; d < all.size(); ++d) nodes[all.node(core::DeviceId(d))].emplace_back(d);
  std::vector<bool> out(all.links().size());
  for (const auto& [node, devices] : nodes)
    for (const core::DeviceId from : devices)
      for (const core::DeviceId to : devices)
        if (from != to)
          for (const std::size_t link : all.route(from, to).links) out[link] = true;
  return out;
}

/// Mean bytes per second that leave a device over such links: for links between nodes, those at its node's
/// points that are not within the node.
double per_device(const Cluster& all, const std::vector<bool>& inside, bool within) {
  std::vector<bool> at_node(all.points().size());
  for (std::size_t d = 0; d < all.size(); ++d) at_node[d] = true;
  for (std::size_t l = 0; l < inside.size() && !within; ++l)
    if (inside[l]) at_node[all.links()[l].to] = true;
  double sum = 0;
  for (std::size_t l = 0; l < inside.size(); ++l)
    if (inside[l] == within && at_node[all.links()[l].from]) sum += all.links()[l].bandwidth.value();
  return sum / static_cast<double>(all.size());
}

void widen(const Cluster& all, bool within, const WhatIfChange& change, std::vector<cluster::Link>& links) {
  const std::vector<bool> inside = within_nodes(all);
  const double now = per_device(all, inside, within);
  if (!(now > 0))
    throw core::BadInput(fmt::format("the cluster has no links {} nodes", within ? "within" : "between"));
  const double factor = change.factor ? change.value : change.value / now;
  for (std::size_t l = 0; l < links.size(); ++l)
    if (inside[l] == within) links[l].bandwidth = links[l].bandwidth * factor;
}

core::Bytes changed_memory(const DeviceType& type, const WhatIfChange& change) {
  const auto sheet = static_cast<double>((type.memory + type.reserved).value());
  const core::Bytes out(static_cast<std::int64_t>(change.factor ? sheet * change.value : change.value));
  if (out <= type.reserved)
    throw core::BadInput(
        fmt::format("{}: {} bytes are reserved on {}", change.text, type.reserved.value(), type.name));
  return out - type.reserved;
}

void change_type(DeviceType& type, const graph::OpGraph& graph, const WhatIfChange& change) {
  const auto changed = [&](double now) { return change.factor ? now * change.value : change.value; };
  if (change.key == ChangedKey::memory) type.memory = changed_memory(type, change);
  if (change.key == ChangedKey::memory_bandwidth)
    type.memory_bandwidth = core::Bandwidth(changed(type.memory_bandwidth.value()));
  if (change.key == ChangedKey::speed) type.kernel_slowdown = type.slowdown() / change.value;
  if (change.key != ChangedKey::flops) return;
  const double now = type.peak_rate(cost::precision_of(graph, type)).value();
  for (core::FlopRate& rate : type.peak) rate = rate * (changed(now) / now);
}

/// Cluster with all its devices; for a short form, at least as many as needed.
Cluster whole(const plan::ClusterRef& ref) {
  auto form = cluster::parse_short_form(ref.name);
  Cluster listed = load_cluster({ref.name, 0, ref.runtime, ref.reserved});
  if (!form || ref.devices <= static_cast<int>(listed.size())) return listed;
  form->nodes = (ref.devices + form->devices - 1) / form->devices;
  const std::string name =
      fmt::format("{}x{}x{}{}", form->devices, form->type->name, form->nodes, form->rails ? "-rails" : "");
  return load_cluster({name, 0, ref.runtime, ref.reserved});
}

}  // namespace

double device_bandwidth(const plan::ClusterRef& ref, const cost::CostModel& costs, bool within) {
  const Cluster all = cost::measured_by(costs, whole(ref));
  return per_device(all, within_nodes(all), within);
}

Cluster changed_cluster(const plan::ClusterRef& ref, const graph::OpGraph& graph,
                        const cost::CostModel& costs, std::span<const WhatIfChange> changes) {
  const Cluster all = cost::measured_by(costs, whole(ref));
  std::vector<DeviceType> types = all.types();
  std::vector<cluster::Link> links = all.links();
  for (const WhatIfChange& change : changes) {
    for (DeviceType& type : types) change_type(type, graph, change);
    if (change.key == ChangedKey::network) widen(all, false, change, links);
    if (change.key == ChangedKey::node_links) widen(all, true, change, links);
  }
  std::vector<cluster::GivenRoute> routes;
  for (const auto& [ends, way] : all.given_routes()) routes.push_back({ends.first, ends.second, way});
  const Cluster out(all.name(), std::move(types), all.devices(), all.points().size() - all.size(),
                    std::move(links), all.points(), std::move(routes));
  return ref.devices == 0 ? out : out.first(ref.devices);
}

}  // namespace penstock::experiment
