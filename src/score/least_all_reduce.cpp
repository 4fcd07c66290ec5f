#include "least_all_reduce.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

namespace penstock::score {
namespace {

using cluster::Link;

/// Sets of connected points (union-find), joined link by link.
class PointGroups {
 public:
  PointGroups(std::size_t points, std::size_t devices) : parent_(points), devices_(points, 0) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    std::fill_n(devices_.begin(), devices, std::size_t{1});
  }
  /// Returns the number of devices in the joined set.
  std::size_t join(std::size_t a, std::size_t b) {
    a = root(a), b = root(b);
    if (a == b) return devices_[a];
    parent_[b] = a;
    return devices_[a] += devices_[b];
  }

  std::size_t root(std::size_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }

 private:
  std::vector<std::size_t> parent_, devices_;
};

/// [replicas] bandwidth at which this many devices are connected over links at least as fast, in either
/// direction.
std::vector<double> connected(const cluster::Cluster& cluster) {
  std::vector<const Link*> links;
  for (const Link& link : cluster.links()) links.push_back(&link);
  std::ranges::stable_sort(links, std::greater(), [](const Link* link) { return link->bandwidth; });
  std::vector<double> out(2);
  PointGroups groups(cluster.points().size(), cluster.size());
  for (const Link* link : links)
    out.resize(std::max(out.size(), groups.join(link->from, link->to) + 1), link->bandwidth.value());
  return out;
}

/// [replicas] upper bound on the bandwidth of disjoint rings among this many devices. Cables between devices
/// connect them, and all rings leave each device over such cables. Zero if fewer devices are connected, and
/// for two replicas.
std::vector<double> ring_bandwidth(const cluster::Cluster& cluster) {
  PointGroups groups(cluster.size(), cluster.size());
  std::vector<double> leaving(cluster.size());
  for (const Link& link : cluster.links()) {
    if (link.from >= cluster.size() || link.to >= cluster.size()) continue;
    leaving[link.from] += link.bandwidth.value();
    groups.join(link.from, link.to);
  }
  std::map<std::size_t, std::vector<double>> connected_ones;
  for (std::size_t d = 0; d < cluster.size(); ++d) connected_ones[groups.root(d)].push_back(leaving[d]);
  std::vector<double> out(cluster.size() + 1);
  for (auto& [root, bandwidths] : connected_ones) {
    std::ranges::sort(bandwidths, std::greater());
    for (std::size_t r = 3; r <= bandwidths.size(); ++r) out[r] = std::max(out[r], bandwidths[r - 1]);
  }
  return out;
}

/// Lower bound on the latency between two devices: a direct link, or one that leaves a device and one that
/// enters a device.
double least_latency(const cluster::Cluster& cluster) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double direct = kNone, leaving = kNone, coming = kNone;
  for (const Link& link : cluster.links()) {
    const double latency = link.latency.value();
    const bool from = link.from < cluster.size(), to = link.to < cluster.size();
    if (from && to) direct = std::min(direct, latency);
    if (from) leaving = std::min(leaving, latency);
    if (to) coming = std::min(coming, latency);
  }
  return std::min(direct, leaving + coming);
}

}  // namespace

LeastAllReduce::LeastAllReduce(const cluster::Cluster& cluster)
    : measured_(cluster.collectives()), by_replicas_(cluster.size() + 1) {
  const double latency = least_latency(cluster);
  const auto bandwidth = connected(cluster), rings = ring_bandwidth(cluster);
  for (std::size_t r = 2; r <= cluster.size(); ++r) {
    const double ring =
        2 * (static_cast<double>(r) - 1) / static_cast<double>(r) / std::max(bandwidth[r], rings[r]);
    const double inside = cluster.size() < 3 ? bandwidth[2] : std::max(bandwidth[2], rings[3]);
    const double hierarchical = 1 / bandwidth[r] + 1 / inside;
    by_replicas_[r] = {2 * static_cast<double>(std::bit_width(r - 1)) * latency,
                       r < 4 ? ring : std::min(ring, hierarchical)};
  }
}

double LeastAllReduce::seconds(std::size_t replicas, core::Bytes bytes) const {
  if (bytes.value() == 0 || replicas < 2) return 0;
  const double closed = by_replicas_[replicas].at(bytes);
  if (measured_ == nullptr) return closed;
  const auto found =
      measured_->find(cluster::CollectiveKind::all_reduce, static_cast<std::int64_t>(replicas), bytes);
  return found ? std::min(closed, found->time.value()) : closed;
}

}  // namespace penstock::score
