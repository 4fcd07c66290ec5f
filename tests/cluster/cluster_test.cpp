#include "penstock/cluster/cluster.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "penstock/core/error.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using cluster::Cluster;
using core::DeviceId;

namespace {

const std::string kTypes =
    "name: c\n"
    "device_types:\n"
    "  g: {memory: 1GiB, memory_bandwidth: 1GB/s, multiprocessors: 1, launch_overhead: 1us, peak: {fp32: "
    "1TFLOP/s}}\n";

std::string fault_of(const std::string& rest) {
  try {
    cluster::parse_cluster(kTypes + rest, "c.yaml");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

}  // namespace

TEST_CASE("every shipped cluster file loads") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(support::checkout("/experiments/clusters")))
    if (entry.path().extension() == ".yaml") {
      CHECK(cluster::load_cluster(entry.path().string()).size() >= 4);
      ++files;
    }
  CHECK(files >= 7);
}

TEST_CASE("routes: inside a node over its switch, between nodes over the network") {
  const Cluster summit = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  CHECK(summit.size() == 32);
  // Device -> switch -> device: two NVLink cables of 0.5 us.
  const auto near = summit.route(DeviceId(0), DeviceId(3));
  CHECK(near.links.size() == 2);
  CHECK(near.bandwidth == core::Bandwidth(50e9));
  CHECK(near.latency.value() == support::near(1e-6));
  // Device -> switch -> network -> switch -> device: the 100 Gb/s uplink is the slowest.
  const auto far = summit.route(DeviceId(0), DeviceId(4));
  CHECK(far.links.size() == 4);
  CHECK(far.bandwidth == core::Bandwidth(12.5e9));
  CHECK(far.time(core::Bytes(12500)).value() == support::near(2e-6 + 1e-6));
  CHECK(summit.first(4).size() == 4);
  CHECK(summit.first(8).route(DeviceId(0), DeviceId(4)).links == far.links);
  CHECK_THROWS_AS(summit.first(33), core::BadInput);
}

TEST_CASE("a ring routes the short way round, ties to the link listed first") {
  const Cluster ring = cluster::load_cluster(support::checkout("/experiments/clusters/pcie_ring.yaml"));
  CHECK(ring.route(DeviceId(0), DeviceId(3)).links.size() == 1);
  // a to c: over b or over d, two links either way; a-b was listed first.
  const auto across = ring.route(DeviceId(0), DeviceId(2));
  CHECK(across.links.size() == 2);
  CHECK(ring.links()[across.links[0]].to == 1);
}

TEST_CASE("bad cluster files are refused with line and key") {
  CHECK(fault_of("machines:\n  - {name: a, device: g}\n  - {name: b, device: g}\n")
            .find("no path from device 0 to device 1") != std::string::npos);
  CHECK(fault_of("machines:\n  - {name: a, device: h}\n") ==
        "c.yaml:5: machines[0].device: no such device type; did you mean 'g'?");
  CHECK(fault_of("machines:\n  - {name: a, device: g}\n  - {name: a, device: g}\n")
            .find("'a' is taken twice") != std::string::npos);
  CHECK(fault_of("machines:\n  - {name: a, device: g}\nlinks:\n  - {from: a, to: x, bandwidth: 1GB/s, "
                 "latency: 1us}\n") == "c.yaml:7: links[0].to: no device or switch is named 'x'");
  CHECK(fault_of("nodes:\n  - {count: 1, device: g, devices: 2, link: {bandwidth: 12.5, latency: 1us}, "
                 "uplink: {bandwidth: 1GB/s, latency: 1us}}\n")
            .find("link.bandwidth: expected a bandwidth with its unit") != std::string::npos);
  CHECK(fault_of("machines:\n  - {name: a, device: g}\nlinks:\n  - {from: a, to: a, bandwidth: 1GB/s, "
                 "latency: 1us}\n")
            .find("two different points") != std::string::npos);
  CHECK(fault_of("").find("there are no devices") != std::string::npos);
}

TEST_CASE("a device has at most 1024 TiB, so that the memory of 4096 is a number") {
  const auto with = [](const std::string& memory) {
    std::string text = kTypes + "machines:\n  - {name: a, device: g}\n";
    text.replace(text.find("1GiB"), 4, memory);
    return cluster::parse_cluster(text, "c.yaml").type(DeviceId(0)).memory.value();
  };
  CHECK(with("1024TiB") == std::int64_t{1} << 50);
  CHECK_THROWS_WITH_AS(with("1025TiB"), "c.yaml:3: device_types.g.memory: expected at most 1024TiB",
                       core::BadInput);
}

TEST_CASE("a given route replaces the shortest one, by default both ways") {
  // A ring a b c d: a to c goes over b, unless the file has a route over d.
  const std::string ring =
      "machines:\n  - {name: a, device: g}\n  - {name: b, device: g}\n  - {name: c, device: g}\n"
      "  - {name: d, device: g}\nlinks:\n"
      "  - {from: a, to: b, bandwidth: 1GB/s, latency: 1us}\n  - {from: b, to: c, bandwidth: 1GB/s, latency: "
      "1us}\n"
      "  - {from: c, to: d, bandwidth: 3GB/s, latency: 3us}\n  - {from: d, to: a, bandwidth: 2GB/s, latency: "
      "2us}\n";
  const auto passed = [&](const std::string& routes, std::size_t from, std::size_t to) {
    const Cluster c = cluster::parse_cluster(kTypes + ring + routes, "c.yaml");
    const auto route = c.route(DeviceId(from), DeviceId(to));
    std::string points = c.points()[from];
    for (const auto l : route.links) points += c.points()[c.links()[l].to];
    return points;
  };
  CHECK(passed("", 0, 2) == "abc");
  CHECK(passed("routes:\n  - {from: a, to: c, via: [d]}\n", 0, 2) == "adc");
  CHECK(passed("routes:\n  - {from: a, to: c, via: [d]}\n", 2, 0) == "cda");
  CHECK(passed("routes:\n  - {from: a, to: c, via: [d], both_ways: false}\n", 2, 0) == "cba");
  CHECK(passed("routes:\n  - {from: a, to: b, via: [d, c]}\n", 0, 1) == "adcb");
  CHECK(passed("routes:\n  - {from: a, to: b, via: []}\n", 0, 1) == "ab");
  // Over d: the slowest of 2 and 3 GB/s, 2 + 3 us.
  const auto given =
      cluster::parse_cluster(kTypes + ring + "routes:\n  - {from: a, to: c, via: [d]}\n", "c.yaml")
          .first(3)
          .route(DeviceId(0), DeviceId(2));
  CHECK(given.bandwidth == core::Bandwidth(2e9));
  CHECK(given.latency.value() == support::near(5e-6));

  const auto fault = [&](const std::string& route) {
    return fault_of(ring + "routes:\n  - " + route + "\n");
  };
  CHECK(fault("{from: a, to: c, via: []}") == "c.yaml:15: routes[0]: no link leads from 'a' to 'c'");
  CHECK(fault("{from: a, to: c, via: [e]}") ==
        "c.yaml:15: routes[0].via[0]: no device or switch is named 'e'");
  CHECK(fault("{from: a, to: c, via: [b, d]}") == "c.yaml:15: routes[0]: no link leads from 'b' to 'd'");
  CHECK(fault("{from: a, to: b, via: [d, a]}") == "c.yaml:15: routes[0]: a route passes no point twice");
  CHECK(fault("{from: a, to: c}") == "c.yaml:15: routes[0]: the key 'via' is missing");
  CHECK(fault("{from: a, to: c, via: [b]}\n  - {from: c, to: a, via: [d]}") ==
        "c.yaml:16: routes[1]: the route from 'c' to 'a' is given twice");
}

TEST_CASE("a route leads from device to device") {
  CHECK(fault_of(
            "nodes:\n  - {count: 1, device: g, devices: 2, link: {bandwidth: 1GB/s, latency: 1us}, uplink: "
            "{bandwidth: 1GB/s, latency: 1us}}\nroutes:\n  - {from: node0.0, to: node0, via: []}\n") ==
        "c.yaml:7: routes[0].to: a route leads from device to device; this is a switch");
}

TEST_CASE("a link goes both ways by default") {
  const auto links = [](const std::string& rest) {
    const std::string one = "  - {from: a, to: b, bandwidth: 1GB/s, latency: 1us" + rest + "}\n";
    return cluster::parse_cluster(
               kTypes + "machines:\n  - {name: a, device: g}\n  - {name: b, device: g}\nlinks:\n" + one +
                   "  - {from: b, to: a, bandwidth: 2GB/s, latency: 1us, both_ways: false}\n",
               "c.yaml")
        .links()
        .size();
  };
  CHECK(links("") == 3);
  CHECK(links(", both_ways: true") == 3);
  CHECK(links(", both_ways: false") == 2);
}

TEST_CASE("communication slows a device down by a factor from 1 to 1000") {
  const auto with = [](const std::string& factor) {
    std::string text = kTypes + "machines:\n  - {name: a, device: g}\n";
    text.replace(text.find("peak"), 4, "overlap_slowdown: " + factor + ", peak");
    return cluster::parse_cluster(text, "c.yaml").type(DeviceId(0)).overlap_slowdown;
  };
  CHECK(with("1") == 1);
  CHECK(with("1000") == 1000);
  for (const char* factor : {"0.5", "1001"})
    CHECK_THROWS_WITH_AS(with(factor),
                         "c.yaml:3: device_types.g.overlap_slowdown: expected a factor from 1 to 1000",
                         core::BadInput);
}

TEST_CASE("kernels of a training run are slower than single ones by a factor from 0.1 to 100") {
  const auto with = [](const std::string& factor) {
    std::string text = kTypes + "machines:\n  - {name: a, device: g}\n";
    text.replace(text.find("peak"), 4, "kernel_slowdown: " + factor + ", peak");
    return cluster::parse_cluster(text, "c.yaml").type(DeviceId(0)).kernel_slowdown;
  };
  CHECK(with("0.1") == 0.1);
  CHECK(with("1.27") == 1.27);
  CHECK(with("100") == 100);
  for (const char* factor : {"0.09", "101", "0", "-1"})
    CHECK_THROWS_WITH_AS(with(factor),
                         "c.yaml:3: device_types.g.kernel_slowdown: expected a factor from 0.1 to 100",
                         core::BadInput);
}

TEST_CASE("memory that libraries hold is subtracted from a device's memory") {
  const auto with = [](const std::string& bytes) {
    std::string text = kTypes + "machines:\n  - {name: a, device: g}\n";
    text.replace(text.find("peak"), 4, "reserved: " + bytes + ", peak");
    return cluster::parse_cluster(text, "c.yaml").type(DeviceId(0));
  };
  CHECK(with("0B").memory == core::Bytes(1 << 30));
  CHECK(with("256MiB").memory == core::Bytes(768 << 20));
  CHECK(with("256MiB").reserved == core::Bytes(256 << 20));
  CHECK_THROWS_WITH_AS(with("1GiB"),
                       "c.yaml:3: device_types.g.reserved: expected less than the device's memory",
                       core::BadInput);
}

TEST_CASE("a cluster has at most 16,384 devices, and as many are read at once") {
  const auto with = [](int count) {
    return kTypes + "nodes:\n  - {count: " + std::to_string(count) +
           ", device: g, devices: 8, link: {bandwidth: 1GB/s, latency: 1us}, uplink: {bandwidth: 1GB/s, "
           "latency: 1us}}\n";
  };
  CHECK(cluster::parse_cluster(with(2048), "c.yaml").size() == 16384);
  CHECK_THROWS_AS(cluster::parse_cluster(with(2049), "c.yaml"), core::BadInput);
}

TEST_CASE("a link beyond the last point is refused") {
  const cluster::Cluster plain = support::tiny_cluster(2, 1 << 20, 1e6, 0);
  auto links = plain.links();
  links.front().to = 9;
  CHECK_THROWS_WITH_AS(cluster::Cluster("short", plain.types(), plain.devices(), 1, links),
                       "cluster short: a link joins point 9, but the last point is 2", core::BadInput);
}
