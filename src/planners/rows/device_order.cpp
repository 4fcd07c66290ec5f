#include "rows/device_order.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace penstock::planners {
namespace {

using Row = std::vector<std::size_t>;
constexpr std::size_t kMostCut = 256;

/// [point] bandwidth to each of its neighbours, both directions together.
using Arms = std::vector<std::map<std::size_t, double>>;

Arms arms_of(const cluster::Cluster& cluster) {
  Arms arms(cluster.points().size());
  for (const cluster::Link& link : cluster.links()) {
    arms[link.from][link.to] += link.bandwidth.value();
    arms[link.to][link.from] += link.bandwidth.value();
  }
  return arms;
}

void cut_off(Arms& arms, std::size_t point) {
  for (const auto& [neighbour, bandwidth] : arms[point]) arms[neighbour].erase(point);
  arms[point].clear();
}

/// Removes points from `kept` on that nothing passes over; on most clusters, devices that take no part are
/// such points.
void drop_dead_ends(Arms& arms, std::size_t kept) {
  std::vector<std::size_t> ends;
  for (std::size_t p = kept; p < arms.size(); ++p)
    if (arms[p].size() == 1) ends.push_back(p);
  while (!ends.empty()) {
    const std::size_t end = ends.back();
    ends.pop_back();
    if (arms[end].empty()) continue;
    const std::size_t neighbour = arms[end].begin()->first;
    cut_off(arms, end);
    if (neighbour >= kept && arms[neighbour].size() == 1) ends.push_back(neighbour);
  }
}

void eliminate(Arms& arms, std::size_t point) {
  const auto around = arms[point];
  const double sum = std::accumulate(around.begin(), around.end(), 0.0,
                                     [](double total, const auto& arm) { return total + arm.second; });
  cut_off(arms, point);
  for (const auto& [a, to_a] : around)
    for (const auto& [b, to_b] : around)
      if (a != b) arms[a][b] += to_a * to_b / sum;
}

/// Joins both rows, each flipped or not so that the pair where they meet is fastest; unflipped among equals.
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

Row ordered(const Weights& weights, const Row& members, core::StopToken stop) {
  if (members.size() < 2) return members;
  Weights among(members.size(), std::vector<double>(members.size()));
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = 0; b < members.size(); ++b)
      among[a][b] = a == b ? 0 : weights[members[a]][members[b]];
  const MinimumCut cut = minimum_cut(std::move(among), stop);
  Row front, back;
  for (std::size_t v = 0; v < members.size(); ++v) (cut.side[v] ? back : front).push_back(members[v]);
  return joined(weights, ordered(weights, front, stop), ordered(weights, back, stop));
}

}  // namespace

Weights device_bandwidths(const cluster::Cluster& cluster, core::StopToken stop) {
  Arms arms = arms_of(cluster);
  drop_dead_ends(arms, cluster.size());
  for (std::size_t p = arms.size(); p-- > cluster.size();) {
    stop.check();
    eliminate(arms, p);
  }
  Weights weights(cluster.size(), std::vector<double>(cluster.size()));
  for (std::size_t d = 0; d < cluster.size(); ++d)
    for (const auto& [other, bandwidth] : arms[d]) weights[d][other] = bandwidth;
  return weights;
}

Row device_order(const Weights& weights, core::StopToken stop) {
  Row all(weights.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return ordered(weights, all, stop);
}

Row device_order(const cluster::Cluster& cluster, core::StopToken stop) {
  if (cluster.size() <= kMostCut) return device_order(device_bandwidths(cluster, stop), stop);
  Row all(cluster.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace penstock::planners
