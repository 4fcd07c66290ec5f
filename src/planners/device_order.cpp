#include "device_order.hpp"

#include <algorithm>
#include <numeric>

namespace penstock::planners {
namespace {

using Row = std::vector<std::size_t>;
constexpr std::size_t kMostCut = 256;

void eliminate(Weights& weights, std::size_t point) {
  const std::vector<double> arms = weights[point];
  const double sum = std::accumulate(arms.begin(), arms.end(), 0.0);
  if (sum == 0) return;
  for (std::size_t a = 0; a < point; ++a)
    for (std::size_t b = 0; b < point; ++b)
      if (a != b) weights[a][b] += arms[a] * arms[b] / sum;
}

/// Both rows, each flipped or not so that the pair where they meet is fastest; unflipped among equals.
Row joined(const Weights& weights, Row front, Row back) {
  const double straight = weights[front.back()][back.front()], flip_back = weights[front.back()][back.back()],
               flip_front = weights[front.front()][back.front()],
               flip_both = weights[front.front()][back.back()];
  const double best = std::max({straight, flip_back, flip_front, flip_both});
  if (straight < best) {
    if (flip_back < best) std::reverse(front.begin(), front.end());
    if (flip_back == best || flip_front < best) std::reverse(back.begin(), back.end());
  }
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

Row ordered(const Weights& weights, const Row& members) {
  if (members.size() < 2) return members;
  Weights among(members.size(), std::vector<double>(members.size()));
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = 0; b < members.size(); ++b)
      among[a][b] = a == b ? 0 : weights[members[a]][members[b]];
  const Cut cut = minimum_cut(std::move(among));
  Row front, back;
  for (std::size_t v = 0; v < members.size(); ++v) (cut.side[v] ? back : front).push_back(members[v]);
  return joined(weights, ordered(weights, front), ordered(weights, back));
}

}  // namespace

Weights device_bandwidths(const cluster::Cluster& cluster) {
  const std::size_t points = cluster.points().size();
  Weights weights(points, std::vector<double>(points));
  for (const cluster::Link& link : cluster.links()) {
    weights[link.from][link.to] += link.bandwidth.value();
    weights[link.to][link.from] += link.bandwidth.value();
  }
  for (std::size_t p = points; p-- > cluster.size();) eliminate(weights, p);
  weights.resize(cluster.size());
  for (auto& row : weights) row.resize(cluster.size());
  return weights;
}

Row device_order(const Weights& weights) {
  Row all(weights.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all.size() > kMostCut ? all : ordered(weights, all);
}

}  // namespace penstock::planners
