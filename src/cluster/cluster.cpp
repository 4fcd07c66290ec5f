#include "penstock/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "penstock/core/error.hpp"

namespace penstock::cluster {

std::string_view name(Precision precision) {
  constexpr std::array<std::string_view, kPrecisions> names = {"fp32", "tf32", "bf16", "fp16"};
  return names[static_cast<std::size_t>(precision)];
}

core::FlopRate DeviceType::peak_rate(Precision precision) const {
  const core::FlopRate stated = peak[static_cast<std::size_t>(precision)];
  return stated.value() > 0 ? stated : peak[static_cast<std::size_t>(Precision::fp32)];
}

Cluster::Cluster(std::string name, std::vector<DeviceType> types, std::vector<Device> devices,
                 std::size_t switches, std::vector<Link> links)
    : name_(std::move(name)), types_(std::move(types)), devices_(std::move(devices)),
      points_(devices_.size() + switches), links_(std::move(links)) {
  if (devices_.empty()) throw core::BadInput(fmt::format("cluster {}: there are no devices", name_));
  for (const Link& link : links_)
    if (link.from == link.to || !(link.bandwidth.value() > 0))
      throw core::BadInput(fmt::format("cluster {}: a link joins a point to itself or has no bandwidth", name_));
  find_routes();
}

void Cluster::find_routes() {
  std::vector<std::vector<std::size_t>> leaving(points_);
  for (std::size_t l = 0; l < links_.size(); ++l) leaving[links_[l].from].push_back(l);
  arriving_.assign(devices_.size() * points_, -1);
  for (std::size_t source = 0; source < devices_.size(); ++source) {
    std::int32_t* last = &arriving_[source * points_];
    std::deque<std::size_t> frontier{source};
    while (!frontier.empty()) {
      const std::size_t point = frontier.front();
      frontier.pop_front();
      for (std::size_t l : leaving[point]) {
        const std::size_t next = links_[l].to;
        if (next == source || last[next] >= 0) continue;
        last[next] = static_cast<std::int32_t>(l);
        frontier.push_back(next);
      }
    }
    for (std::size_t target = 0; target < devices_.size(); ++target)
      if (target != source && last[target] < 0)
        throw core::BadInput(fmt::format("cluster {}: there is no path from device {} to device {}", name_, source, target));
  }
}

Route Cluster::route(core::DeviceId from, core::DeviceId to) const {
  core::require(from != to, "a route joins two devices");
  const std::int32_t* last = &arriving_[from.index() * points_];
  Route route{{}, core::Bandwidth(0), core::Seconds(0)};
  for (std::size_t point = to.index(); point != from.index();) {
    const auto l = static_cast<std::size_t>(last[point]);
    route.links.push_back(l);
    route.latency += links_[l].latency;
    if (route.links.size() == 1 || links_[l].bandwidth < route.bandwidth) route.bandwidth = links_[l].bandwidth;
    point = links_[l].from;
  }
  std::reverse(route.links.begin(), route.links.end());
  return route;
}

Cluster Cluster::first(int count) const {
  if (count < 1 || static_cast<std::size_t>(count) > size())
    throw core::BadInput(fmt::format("cluster {}: {} devices asked for, it has {}", name_, count, size()));
  Cluster part = *this;
  part.devices_.resize(static_cast<std::size_t>(count));
  // Devices beyond `count` stay as points of the network: they may forward, but take no part.
  part.arriving_.resize(part.devices_.size() * points_);
  return part;
}

}  // namespace penstock::cluster
