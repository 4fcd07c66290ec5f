#include "penstock/cost/communication.hpp"

#include <doctest/doctest.h>

#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;

namespace {

std::vector<DeviceId> devices(std::size_t count) {
  std::vector<DeviceId> out;
  for (std::size_t d = 0; d < count; ++d) out.emplace_back(d);
  return out;
}

}  // namespace

TEST_CASE("ring all-reduce: 2(r-1)/r of the bytes over the slowest cable") {
  const auto c = support::tiny_cluster(4, 1, 1e9);
  // Four devices, 4 MB, no latency: 6 steps of 1 MB at 1 GB/s.
  CHECK(cost::all_reduce(c, devices(4)).time(Bytes(4000000)).value() == doctest::Approx(6e-3));
  CHECK(cost::all_reduce(c, devices(1)).time(Bytes(4000000)).value() == 0);
}

TEST_CASE("a tree wins where latency dominates") {
  // 16 devices, 1 ms per route (two cables of 0.5 ms), hardly any bytes: ring 30 steps, tree 8.
  const auto c = support::tiny_cluster(16, 1, 1e9, 0.5e-3);
  CHECK(cost::all_reduce(c, devices(16)).time(Bytes(16)).value() == doctest::Approx(8e-3).epsilon(0.01));
}

TEST_CASE("across nodes the hierarchical ring sends over the uplink only between nodes") {
  const auto c = cluster::load_cluster(PENSTOCK_SOURCE "/experiments/clusters/summit.yaml");
  const Bytes big(1000000000);
  // Inside: 2 * 3/4 GB at 50 GB/s = 30 ms. Between two nodes: 2 * 1/2 GB at 12.5 GB/s = 80 ms.
  CHECK(cost::all_reduce(c, devices(8)).time(big).value() == doctest::Approx(0.110).epsilon(0.001));
}
