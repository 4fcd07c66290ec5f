#include "src/planners/rows/device_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "penstock/core/random.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using planners::Weights;

namespace {

Weights random_weights(core::Random& random, std::size_t size) {
  const double density = 0.3 + 0.7 * random.unit();
  Weights weights(size, std::vector<double>(size));
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (random.chance(density)) weights[a][b] = weights[b][a] = random.between(1, 9);
  return weights;
}

double across(const Weights& weights, unsigned side) {
  double sum = 0;
  for (std::size_t a = 0; a < weights.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if ((side >> a & 1) != (side >> b & 1)) sum += weights[a][b];
  return sum;
}

/// The lightest of all 2^(n-1) - 1 cuts.
double lightest_cut(const Weights& weights) {
  double least = std::numeric_limits<double>::infinity();
  for (unsigned side = 2; side < 1u << weights.size(); side += 2)
    least = std::min(least, across(weights, side));
  return least;
}

unsigned as_bits(const std::vector<bool>& side) {
  unsigned bits = 0;
  for (std::size_t v = 0; v < side.size(); ++v) bits |= static_cast<unsigned>(side[v]) << v;
  return bits;
}

/// Devices joined to each other in a closed row, in the order given, by two cables of 1 GB/s each.
cluster::Cluster ring(const std::vector<std::size_t>& row) {
  const auto type = support::tiny_cluster(1).types().front();
  std::vector<cluster::Link> links;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const std::size_t a = row[k], b = row[(k + 1) % row.size()];
    links.push_back({a, b, core::Bandwidth(1e9), core::Seconds(0)});
    links.push_back({b, a, core::Bandwidth(1e9), core::Seconds(0)});
  }
  return cluster::Cluster("ring", {type}, std::vector<cluster::Device>(row.size()), 0, links);
}

bool neighbours(const std::vector<std::size_t>& row, std::size_t a, std::size_t b) {
  for (std::size_t k = 0; k < row.size(); ++k) {
    const std::size_t next = row[(k + 1) % row.size()];
    if ((row[k] == a && next == b) || (row[k] == b && next == a)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the minimum cut is the lightest of all cuts") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const Weights weights = random_weights(random, static_cast<std::size_t>(random.between(2, 10)));
    const planners::MinimumCut cut = planners::minimum_cut(weights);
    CHECK(cut.weight == lightest_cut(weights));
    const unsigned side = as_bits(cut.side);
    CHECK(side != 0);
    CHECK(side % 2 == 0);  // vertex 0 is on the other side
    CHECK(across(weights, side) == cut.weight);
  }
}

TEST_CASE("a switch becomes links between its neighbours; what pairs share counts once") {
  // Three devices on one switch, 1 GB/s each way: 2 GB/s per arm, 2 * 2 / 6 GB/s between each pair.
  const Weights star = planners::device_bandwidths(support::tiny_cluster(3));
  CHECK(star.size() == 3);
  CHECK(star[0][1] == support::near(2e9 * 2e9 / 6e9));
  CHECK(star[2][0] == star[0][2]);
  // Two nodes of two devices (8 GB/s) whose uplinks (1 GB/s) meet: no more than half an uplink's 2 GB/s
  // crosses, however many pairs there are.
  const auto type = support::tiny_cluster(1).types().front();
  std::vector<cluster::Link> links;
  const auto join = [&](std::size_t a, std::size_t b, double bandwidth) {
    links.push_back({a, b, core::Bandwidth(bandwidth), core::Seconds(0)});
    links.push_back({b, a, core::Bandwidth(bandwidth), core::Seconds(0)});
  };
  join(0, 4, 8e9), join(2, 4, 8e9), join(1, 5, 8e9), join(3, 5, 8e9), join(4, 6, 1e9), join(5, 6, 1e9);
  const cluster::Cluster nodes("nodes", {type}, std::vector<cluster::Device>(4), 3, links);
  const Weights weights = planners::device_bandwidths(nodes);
  CHECK(weights[0][1] + weights[0][3] + weights[2][1] + weights[2][3] < 1e9);
  CHECK(weights[0][2] > 7e9);
  // Devices 0 and 2 share a node, 1 and 3 the other: the order keeps them together.
  CHECK(planners::device_order(weights) == std::vector<std::size_t>{0, 2, 1, 3});
}

TEST_CASE("devices that take no part make no difference where nothing passes over them") {
  const auto type = support::tiny_cluster(1).types().front();
  const auto nodes = [&](std::size_t count) {  // of two devices; their switches meet at the last one
    std::vector<cluster::Link> links;
    const auto join = [&](std::size_t a, std::size_t b, double bandwidth) {
      links.push_back({a, b, core::Bandwidth(bandwidth), core::Seconds(0)});
      links.push_back({b, a, core::Bandwidth(bandwidth), core::Seconds(0)});
    };
    for (std::size_t n = 0; n < count; ++n)
      join(2 * n, 2 * count + n, 8e9), join(2 * n + 1, 2 * count + n, 8e9),
          join(2 * count + n, 3 * count, 3e9);
    return cluster::Cluster("nodes", {type}, std::vector<cluster::Device>(2 * count), count + 1, links);
  };
  const Weights alone = planners::device_bandwidths(nodes(3));
  CHECK(planners::device_bandwidths(nodes(200).first(6)) == alone);
  CHECK(planners::device_order(nodes(200).first(6)) == planners::device_order(nodes(3)));
}

TEST_CASE("ordering devices hears a stop") {
  const std::atomic<bool> stop{true};
  const Weights weights(40, std::vector<double>(40, 1));
  CHECK_THROWS_AS(planners::device_order(weights, core::StopToken(&stop)), core::InterruptedError);
}

TEST_CASE("a ring is cut open: devices next to each other in the order are neighbours on it") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    std::vector<std::size_t> row;
    for (std::size_t d = 0; d < 8; ++d) row.insert(row.begin() + random.between(0, static_cast<int>(d)), d);
    const auto order = planners::device_order(planners::device_bandwidths(ring(row)));
    REQUIRE(order.size() == row.size());
    for (std::size_t k = 0; k + 1 < order.size(); ++k) CHECK(neighbours(row, order[k], order[k + 1]));
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t d = 0; d < sorted.size(); ++d) CHECK(sorted[d] == d);
  }
}
