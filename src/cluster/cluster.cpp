#include "penstock/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/spelling.hpp"
#include "routes.hpp"

namespace penstock::cluster {
namespace {

constexpr std::array<std::string_view, kPrecisions> kPrecisionNames = {"fp32", "tf32", "bf16",
                                                                       "fp16", "fp8",  "fp4"};
constexpr std::size_t kTimed = 4;  ///< the first of them: kernels are timed in these

}  // namespace

std::string_view name(Precision precision) {
  return kPrecisionNames[static_cast<std::size_t>(precision)];
}
Precision precision(std::string_view given) {
  return static_cast<Precision>(
      core::index_of(given, std::span(kPrecisionNames).first(kTimed), "number format"));
}

core::FlopRate DeviceType::peak_rate(Precision precision) const {
  const core::FlopRate stated = peak[static_cast<std::size_t>(precision)];
  return stated.value() > 0 ? stated : peak[static_cast<std::size_t>(Precision::fp32)];
}

Cluster::Cluster(std::string name, std::vector<DeviceType> types, std::vector<Device> devices,
                 std::size_t switches, std::vector<Link> links, std::vector<std::string> points,
                 std::vector<GivenRoute> routes)
    : name_(std::move(name)),
      types_(std::move(types)),
      devices_(std::move(devices)),
      listed_(devices_.size()),
      points_(std::move(points)),
      links_(std::move(links)) {
  if (devices_.empty()) throw core::BadInput(fmt::format("cluster {}: there are no devices", name_));
  if (points_.empty())
    for (std::size_t p = 0; p < devices_.size() + switches; ++p) points_.push_back(std::to_string(p));
  core::require(points_.size() == devices_.size() + switches, "every point has a name");
  for (const Link& link : links_)
    if (const std::size_t last = std::max(link.from, link.to); last >= points_.size())
      throw core::BadInput(fmt::format("cluster {}: a link joins point {}, but the last point is {}", name_,
                                       last, points_.size() - 1));
  for (const Link& link : links_)
    if (link.from == link.to || !(link.bandwidth.value() > 0))
      throw core::BadInput(
          fmt::format("cluster {}: a link joins a point to itself or has no bandwidth", name_));
  routes_ = std::make_shared<const RouteFinder>(points_.size(), links_);
  if (const auto gap = routes_->gap(devices_.size()))
    throw core::BadInput(fmt::format("cluster {}: there is no path from device {} to device {}", name_,
                                     gap->first, gap->second));
  for (GivenRoute& route : routes) {
    check_given(route);
    given_[{route.from, route.to}] = std::move(route.links);
  }
}

void Cluster::check_given(const GivenRoute& route) const {
  std::set<std::size_t> passed{route.from};
  std::size_t point = route.from;
  for (const std::size_t l : route.links) {
    if (l >= links_.size() || links_[l].from != point || !passed.insert(links_[l].to).second)
      throw core::BadInput(fmt::format("cluster {}: the links of a given route do not connect", name_));
    point = links_[l].to;
  }
  if (route.from == route.to || std::max(route.from, route.to) >= listed_ || point != route.to)
    throw core::BadInput(fmt::format("cluster {}: a given route does not lead from device to device", name_));
}

Route Cluster::route(core::DeviceId from, core::DeviceId to) const {
  core::require(from != to, "a route joins two devices");
  const auto given = given_.find({from.index(), to.index()});
  Route route{given != given_.end() ? given->second : routes_->between(from.index(), to.index()),
              core::Bandwidth(0), core::Seconds(0)};
  route.bandwidth = links_[route.links.front()].bandwidth;
  for (auto l = route.links.rbegin(); l != route.links.rend(); ++l) {
    route.bandwidth = std::min(route.bandwidth, links_[*l].bandwidth);
    route.latency += links_[*l].latency;
  }
  return route;
}

Cluster Cluster::first(int count) const {
  if (count < 1 || static_cast<std::size_t>(count) > size())
    throw core::BadInput(fmt::format("cluster {}: {} devices asked for, it has {}", name_, count, size()));
  Cluster part = *this;
  part.devices_.resize(static_cast<std::size_t>(count));
  // Devices beyond `count` stay points of the network: they may forward, but take no part.
  return part;
}

Cluster Cluster::run_by(const FrameworkRuntime& runtime) const {
  Cluster out = *this;
  for (DeviceType& type : out.types_) type.runtime = runtime;
  return out;
}

Cluster Cluster::without_host_times() const {
  Cluster out = *this;
  for (DeviceType& type : out.types_) type.runtime = type.host().with_host(core::Seconds(0));
  return out;
}

Cluster Cluster::run_where_unstated(
    const std::function<std::optional<FrameworkRuntime>(const DeviceType&)>& runtime) const {
  Cluster out = *this;
  for (DeviceType& type : out.types_)
    if (!type.runtime) type.runtime = runtime(type);
  return out;
}

Cluster Cluster::slowed_by(double factor) const {
  Cluster out = *this;
  for (DeviceType& type : out.types_) type.kernel_slowdown = factor;
  return out;
}

Cluster Cluster::slowed_where_unstated(const std::function<double(const DeviceType&)>& slowdown) const {
  Cluster out = *this;
  for (DeviceType& type : out.types_)
    if (!type.kernel_slowdown) type.kernel_slowdown = slowdown(type);
  return out;
}

Cluster Cluster::reserving(core::Bytes bytes) const {
  Cluster out = *this;
  for (DeviceType& type : out.types_) {
    const core::Bytes all = type.memory + type.reserved;
    if (bytes >= all)
      throw core::BadInput(
          fmt::format("{} reserved of {}, which has {}", core::show(bytes), type.name, core::show(all)));
    type.memory = all - bytes;
    type.reserved = bytes;
  }
  return out;
}

Cluster Cluster::measured_by(std::shared_ptr<const CollectiveTimes> collectives) const {
  Cluster out = *this;
  out.collectives_ = std::move(collectives);
  return out;
}

}  // namespace penstock::cluster
