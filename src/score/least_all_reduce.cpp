#include "least_all_reduce.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace penstock::score {
namespace {

using core::DeviceId;

/// Devices joined pair by pair, the best pair first.
class Groups {
 public:
  explicit Groups(std::size_t size) : parent_(size), size_(size, 1) {
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
  std::size_t a, b;
};

std::vector<Pair> pairs(const cluster::Cluster& cluster) {
  std::vector<Pair> out;
  for (std::size_t a = 0; a < cluster.size(); ++a)
    for (std::size_t b = a + 1; b < cluster.size(); ++b) {
      const auto there = cluster.route(DeviceId(a), DeviceId(b)),
                 back = cluster.route(DeviceId(b), DeviceId(a));
      out.push_back({std::max(there.bandwidth, back.bandwidth).value(),
                     std::min(there.latency, back.latency).value(), a, b});
    }
  std::sort(out.begin(), out.end(), [](const Pair& x, const Pair& y) {
    return std::tie(y.bandwidth, x.a, x.b) < std::tie(x.bandwidth, y.a, y.b);
  });
  return out;
}

/// [replicas] the best bandwidth at which so many devices are connected.
std::vector<double> connected(std::size_t devices, const std::vector<Pair>& pairs) {
  std::vector<double> out(2);
  Groups groups(devices);
  for (const Pair& pair : pairs)
    out.resize(std::max(out.size(), groups.join(pair.a, pair.b) + 1), pair.bandwidth);
  return out;
}

}  // namespace

LeastAllReduce::LeastAllReduce(const cluster::Cluster& cluster) : by_replicas_(cluster.size() + 1) {
  const auto all = pairs(cluster);
  if (all.empty()) return;
  const double latency = std::min_element(all.begin(), all.end(), [](const Pair& x, const Pair& y) {
                           return x.latency < y.latency;
                         })->latency;
  const auto bandwidth = connected(cluster.size(), all);
  for (std::size_t r = 2; r <= cluster.size(); ++r) {
    const double ring = 2 * (static_cast<double>(r) - 1) / static_cast<double>(r) / bandwidth[r];
    const double hierarchical = 1 / bandwidth[r] + 1 / all.front().bandwidth;
    by_replicas_[r] = {2 * static_cast<double>(std::bit_width(r - 1)) * latency,
                       r < 4 ? ring : std::min(ring, hierarchical)};
  }
}

double LeastAllReduce::seconds(std::size_t replicas, core::Bytes bytes) const {
  return bytes.value() > 0 && replicas > 1 ? by_replicas_[replicas].at(bytes) : 0;
}

}  // namespace penstock::score
