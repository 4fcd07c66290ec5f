#include "penstock/calibrate/as_cluster.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/cost/calibrated.hpp"
#include "support/near.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using core::DeviceId;

TEST_CASE("several of the measured device are a cluster it is not foreign to") {
  // 16 GB for four; a message of 1 GB takes 10 us and 1 GB at 20 GB/s, whichever two devices it is between.
  const auto calibration = support::full_calibration();
  const auto cluster =
      cluster::parse_cluster(calibrate::cluster_yaml(calibration, 4, {1e-5, 1 / 20e9}), "four.yaml");
  CHECK(cluster.size() == 4);
  CHECK(cost::CalibratedCosts(calibration).foreign(cluster).empty());
  for (std::size_t to = 1; to < 4; ++to)
    CHECK(cluster.route(DeviceId(0), DeviceId(to)).time(core::Bytes(1'000'000'000)).value() ==
          support::near(0.05001));
  const auto& type = cluster.type(DeviceId(3));
  CHECK(type.memory == core::Bytes(4'000'000'000));
  CHECK(type.memory_bandwidth.value() == support::near(1e11));
  CHECK(type.peak[0].value() == support::near(1e12));
  CHECK(type.launch_overhead.value() == support::near(3e-6));
  CHECK(cluster.node(DeviceId(0)) == cluster.node(DeviceId(3)));
}

TEST_CASE("GPUs wait for their launches, eager or in a graph, as measured; hosts for none") {
  auto calibration = support::full_calibration();  // 3 us each, 1.5 us in a graph
  const auto per_kernel = [&](auto... launching) {
    const auto text = calibrate::cluster_yaml(calibration, 2, {0, 1e-9}, launching...);
    return cluster::parse_cluster(text, "two.yaml").type(DeviceId(0)).host().per_kernel.value();
  };
  using calibrate::LaunchMethod;
  CHECK(per_kernel() == support::near(3e-6));
  CHECK(per_kernel(LaunchMethod::graph) == support::near(1.5e-6));
  CHECK(per_kernel(LaunchMethod::free) == 0);
  calibration.graph_launch.reset();
  CHECK_THROWS_AS(per_kernel(LaunchMethod::graph), core::BadInput);
  calibration.identity.backend = "host";
  CHECK(per_kernel() == 0);
  CHECK_THROWS_AS(per_kernel(LaunchMethod::graph), core::BadInput);
}

TEST_CASE("one device needs no link, and names are quoted") {
  auto calibration = support::bare_calibration();
  calibration.identity.device = "Maker \"T1\": 16GB #2";
  const auto cluster = cluster::parse_cluster(calibrate::cluster_yaml(calibration, 1, {}), "one.yaml");
  CHECK(cluster.size() == 1);
  CHECK(cluster.type(DeviceId(0)).name == calibration.identity.device);
}

TEST_CASE("messages are as long as copies between devices were") {
  auto calibration = support::bare_calibration();
  CHECK_FALSE(calibrate::peer_line(calibration));
  const auto at = [](std::int64_t bytes) {  // 2 us and 10 GB/s
    return cost::LinkPoint{core::Bytes(bytes), support::timing(2e-6 + static_cast<double>(bytes) / 10e9)};
  };
  calibration.links = {{cost::LinkKind::device_copy, 1, {at(7)}, {}},
                       {cost::LinkKind::peer_copy, 2, {at(1000), at(100'000), at(10'000'000)}, {}}};
  const auto line = calibrate::peer_line(calibration);
  REQUIRE(line);
  CHECK(line->latency == support::near(2e-6));
  CHECK(1 / line->per_byte == support::near(10e9));
}

TEST_CASE("GPUs that send each other messages have a memory each, partitions of one share it") {
  auto calibration = support::bare_calibration();
  const auto memory = [&](const char* backend, bool peers) {
    calibration.identity.backend = backend;
    calibration.links.clear();
    if (peers)
      calibration.links = {{cost::LinkKind::peer_copy, 2, {{core::Bytes(1000), support::timing(1e-6)}}, {}}};
    const auto cluster =
        cluster::parse_cluster(calibrate::cluster_yaml(calibration, 2, {0, 1e-9}), "two.yaml");
    return cluster.type(DeviceId(0)).memory;
  };
  const core::Bytes all = calibration.identity.memory;
  CHECK(memory("cuda:1", true) == all);
  CHECK(memory("cuda:1", false) == all / 2);
  CHECK(memory("cuda:1/2", true) == all / 2);
  CHECK(memory("host", true) == all / 2);
}
