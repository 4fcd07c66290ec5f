#include "penstock/cluster/price.hpp"

#include <doctest/doctest.h>

#include <string>

#include "penstock/core/error.hpp"
#include "support/near.hpp"

using namespace penstock;

namespace {

/// Two nodes of two devices, of the types big and small; `big`, `small`: further keys of these.
cluster::Cluster two_types(const std::string& big, const std::string& small) {
  const std::string sheet =
      "memory: 1GiB, memory_bandwidth: 1GB/s, multiprocessors: 1, launch_overhead: 1us, peak: {fp32: "
      "1TFLOP/s}";
  const std::string cables =
      "link: {bandwidth: 1GB/s, latency: 1us}, uplink: {bandwidth: 1GB/s, latency: 1us}";
  return cluster::parse_cluster("name: c\ndevice_types:\n  big: {" + sheet + big + "}\n  small: {" + sheet +
                                    small + "}\nnodes:\n  - {count: 1, device: big, devices: 2, " + cables +
                                    "}\n  - {count: 1, device: small, devices: 2, " + cables + "}\n",
                                "c.yaml");
}

std::string fault(const std::string& big) {
  try {
    two_types(big, "");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

}  // namespace

TEST_CASE("an hour costs what its devices do; a sample its share of the iteration's") {
  const auto cluster = two_types(", price: 3", ", price: 0.6");
  CHECK(cluster::hourly_price(cluster) == support::near(7.2));
  CHECK(cluster::hourly_price(cluster.first(3)) == support::near(6.6));
  // 7.2 dollars an hour are 0.002 a second; 5 s for 20 samples.
  CHECK(cluster::sample_price(cluster, core::Seconds(5), 20) == support::near(0.0005));
}

TEST_CASE("the price of a device that takes part must be stated") {
  const auto cluster = two_types(", price: 3", "");
  CHECK(cluster::hourly_price(cluster.first(2)) == support::near(6));
  CHECK_THROWS_WITH_AS(cluster::hourly_price(cluster),
                       "cluster c: device type small has no price: add `price`, dollars for an hour of one "
                       "device, to its entry in a cluster file",
                       core::BadInput);
}

TEST_CASE("prices that are none are refused, with file, line and key") {
  for (const char* price : {"0", "-1", "1000001"}) {
    CAPTURE(price);
    CHECK(fault(std::string(", price: ") + price) ==
          "c.yaml:3: device_types.big.price: expected dollars above 0, at most 1000000");
  }
  CHECK(fault(", price: cheap").starts_with("c.yaml:3: device_types.big.price: "));
}
