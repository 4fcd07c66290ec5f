#include "least_all_reduce.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

namespace penstock::score {
namespace {

using core::DeviceId;

/// Devices that are alike, of which any stands for all: on the same switch, over equal cables.
struct Crowd {
  DeviceId first, second;
  std::size_t size = 0;
};

/// The cables of a device that has one neighbour alone: where to, how fast and how slow either way.
using Lead = std::tuple<std::size_t, double, double, double, double>;

/// [device] its lead; none where it has several neighbours, a cable one way only, or a given route.
std::vector<std::optional<Lead>> leads(const cluster::Cluster& cluster) {
  constexpr double kMissing = -1;
  std::vector<std::optional<Lead>> out(cluster.size());
  std::vector<bool> several(cluster.size());
  const auto join = [&](std::size_t d, std::size_t other, const cluster::Link& link, bool up) {
    if (d >= out.size()) return;
    if (!out[d]) out[d] = Lead{other, kMissing, kMissing, kMissing, kMissing};
    auto& [neighbour, up_bandwidth, up_latency, down_bandwidth, down_latency] = *out[d];
    several[d] = several[d] || neighbour != other;
    double& bandwidth = up ? up_bandwidth : down_bandwidth;
    if (bandwidth != kMissing) return;  // the cable listed first counts
    bandwidth = link.bandwidth.value();
    (up ? up_latency : down_latency) = link.latency.value();
  };
  for (const cluster::Link& link : cluster.links()) {
    join(link.from, link.to, link, true);
    join(link.to, link.from, link, false);
  }
  for (const auto& [ends, links] : cluster.given_routes())
    for (const std::size_t d : {ends.first, ends.second})
      if (d < several.size()) several[d] = true;
  for (std::size_t d = 0; d < out.size(); ++d)
    if (out[d] && (several[d] || std::get<1>(*out[d]) == kMissing || std::get<3>(*out[d]) == kMissing))
      out[d].reset();
  return out;
}

std::vector<Crowd> crowds(const cluster::Cluster& cluster) {
  std::vector<Crowd> out;
  std::map<Lead, std::size_t> known;
  const auto all = leads(cluster);
  for (std::size_t d = 0; d < all.size(); ++d) {
    const auto crowd = all[d] ? known.try_emplace(*all[d], out.size()).first->second : out.size();
    if (crowd == out.size()) out.push_back({DeviceId(d), {}, 0});
    if (++out[crowd].size == 2) out[crowd].second = DeviceId(d);
  }
  return out;
}

/// Joined pair by pair, the best pair first. A crowd that meets another, or itself, is joined whole.
class Groups {
 public:
  explicit Groups(const std::vector<Crowd>& crowds) : parent_(crowds.size()) {
    for (const Crowd& crowd : crowds) size_.push_back(crowd.size);
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  /// Devices in the group that results.
  std::size_t join(std::size_t a, std::size_t b) {
    a = root(a), b = root(b);
    if (a == b) return size_[a];
    parent_[b] = a;
    return size_[a] += size_[b];
  }

 private:
  std::size_t root(std::size_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  std::vector<std::size_t> parent_, size_;
};

struct Pair {
  double bandwidth;  ///< the better of both directions
  double latency;
  std::size_t a, b;  ///< crowds
};

std::vector<Pair> pairs(const cluster::Cluster& cluster, const std::vector<Crowd>& crowds) {
  std::vector<Pair> out;
  for (std::size_t a = 0; a < crowds.size(); ++a)
    for (std::size_t b = a; b < crowds.size(); ++b) {
      if (a == b && crowds[a].size < 2) continue;
      const DeviceId from = crowds[a].first, to = a == b ? crowds[a].second : crowds[b].first;
      const auto there = cluster.route(from, to), back = cluster.route(to, from);
      out.push_back({std::max(there.bandwidth, back.bandwidth).value(),
                     std::min(there.latency, back.latency).value(), a, b});
    }
  std::sort(out.begin(), out.end(), [](const Pair& x, const Pair& y) { return x.bandwidth > y.bandwidth; });
  return out;
}

/// [replicas] the best bandwidth at which so many devices are connected.
std::vector<double> connected(const std::vector<Crowd>& crowds, const std::vector<Pair>& pairs) {
  std::vector<double> out(2);
  Groups groups(crowds);
  for (const Pair& pair : pairs)
    out.resize(std::max(out.size(), groups.join(pair.a, pair.b) + 1), pair.bandwidth);
  return out;
}

}  // namespace

LeastAllReduce::LeastAllReduce(const cluster::Cluster& cluster)
    : measured_(cluster.collectives()), by_replicas_(cluster.size() + 1) {
  const auto alike = crowds(cluster);
  const auto all = pairs(cluster, alike);
  if (all.empty()) return;
  const double latency = std::min_element(all.begin(), all.end(), [](const Pair& x, const Pair& y) {
                           return x.latency < y.latency;
                         })->latency;
  const auto bandwidth = connected(alike, all);
  for (std::size_t r = 2; r <= cluster.size(); ++r) {
    const double ring = 2 * (static_cast<double>(r) - 1) / static_cast<double>(r) / bandwidth[r];
    const double hierarchical = 1 / bandwidth[r] + 1 / all.front().bandwidth;
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
