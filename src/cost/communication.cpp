#include "penstock/cost/communication.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "penstock/collective/catalogue.hpp"

namespace penstock::cost {
namespace {

using cluster::Cluster;
using collective::Crowd;
using collective::PassCount;
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

bool in_one_node(const Cluster& cluster, const Devices& group) {
  return std::ranges::all_of(group,
                             [&](DeviceId d) { return cluster.node(d) == cluster.node(group.front()); });
}

/// All groups at once, by the algorithms that fit every one of them: the slowest counts.
AllReduce of_groups(const Cluster& cluster, std::span<const Devices> groups, PassCount passes) {
  AllReduce out;
  if (std::ranges::any_of(groups, [](const Devices& group) { return group.size() < 2; })) return out;
  const Crowd crowd = groups.size() == 1 ? Crowd() : crowd_of(cluster, groups);
  for (const collective::Algorithm& each : collective::algorithms()) {
    const auto fits = [&](const Devices& group) { return each.fits(cluster, group); };
    if (each.closed_form == nullptr || (passes == PassCount::one && !each.scatters)) continue;
    if (!std::ranges::all_of(groups, fits)) continue;
    AffineTime& slowest = out.algorithms.emplace_back();
    for (const Devices& group : groups) {
      const AffineTime here = each.closed_form(cluster, group, passes, crowd);
      slowest = {std::max(slowest.latency, here.latency), std::max(slowest.per_byte, here.per_byte)};
    }
  }
  return out;
}

}  // namespace

std::optional<cluster::CollectiveTimes::LookupResult> CollectiveMeasurements::find(core::Bytes bytes) const {
  if (times == nullptr) return {};
  auto found = times->find(kind, ranks, bytes);
  if (kind != cluster::CollectiveKind::all_gather) return found;
  const auto scattered = times->find(cluster::CollectiveKind::reduce_scatter, ranks, bytes);
  if (!found || !scattered) return found ? found : scattered;
  found->time = (found->time + scattered->time) / 2;
  found->reach = std::max(found->reach, scattered->reach);
  return found;
}

CollectiveMeasurements measured(const Cluster& cluster, std::span<const Devices> groups,
                                cluster::CollectiveKind kind) {
  if (cluster.collectives() == nullptr || groups.empty() || groups.front().size() < 2) return {};
  const auto fits = [&](const Devices& group) {
    return group.size() == groups.front().size() && in_one_node(cluster, group);
  };
  if (!std::ranges::all_of(groups, fits)) return {};
  if (groups.size() > 1 && std::ranges::any_of(crowd_of(cluster, groups), [](auto n) { return n > 1; }))
    return {};
  return {cluster.collectives(), kind, static_cast<std::int64_t>(groups.front().size())};
}

core::Seconds AllReduce::time(core::Bytes bytes) const {
  if (algorithms.empty() || bytes.value() == 0) return core::Seconds(0);
  const auto sent_bytes =
      core::Bytes(static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes.value()) * sent)));
  if (const auto found = measured.find(sent_bytes)) return found->time;
  double best = algorithms.front().at(bytes);
  for (const AffineTime& algorithm : algorithms) best = std::min(best, algorithm.at(bytes));
  return core::Seconds(best);
}

AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const DeviceId> devices) {
  const Devices one(devices.begin(), devices.end());
  return all_reduce(cluster, {&one, 1});
}

AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const Devices> groups) {
  AllReduce out = of_groups(cluster, groups, PassCount::two);
  out.measured = measured(cluster, groups, cluster::CollectiveKind::all_reduce);
  return out;
}

AllReduce all_gather(const cluster::Cluster& cluster, std::span<const Devices> groups) {
  AllReduce out = of_groups(cluster, groups, PassCount::one);
  out.measured = measured(cluster, groups, cluster::CollectiveKind::all_gather);
  return out;
}

AffineTime all_to_all(const cluster::Cluster& cluster, std::span<const DeviceId> devices) {
  const Devices one(devices.begin(), devices.end());
  return all_to_all(cluster, {&one, 1});
}

AffineTime all_to_all(const cluster::Cluster& cluster, std::span<const Devices> groups) {
  AffineTime out;
  std::unordered_map<std::size_t, double> sent;  // over each link, of the bytes of a group
  for (const Devices& group : groups) {
    const auto n = static_cast<double>(group.size());
    for (const DeviceId a : group)
      for (const DeviceId b : group) {
        if (a == b) continue;
        const cluster::Route& route = cluster.route(a, b);
        for (const std::size_t link : route.links) sent[link] += 1 / (n * n);
        out.latency = std::max(out.latency, (n - 1) * route.latency.value());
        out.per_byte = std::max(out.per_byte, (n - 1) / (n * n) / route.bandwidth.value());
      }
  }
  for (const auto& [link, bytes] : sent)
    out.per_byte = std::max(out.per_byte, bytes / cluster.links()[link].bandwidth.value());
  return out;
}

}  // namespace penstock::cost
