#include "penstock/cluster/short_form.hpp"

#include <doctest/doctest.h>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/error.hpp"

using namespace penstock;
using cluster::load_cluster;
using core::DeviceId;

namespace {

std::string refusal(const std::string& name) {
  try {
    load_cluster(name);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("the short form of a built-in machine equals its file") {
  const std::pair<const char*, const char*> same[] = {{"8xA100-40x8", "dgx_a100"},
                                                      {"8xH100x8", "dgx_h100"},
                                                      {"8xh200x8", "dgx_h200"},
                                                      {"8xMI300Xx8", "mi300x"}};
  for (const auto& [form, name] : same) {
    CAPTURE(name);
    const auto mine = load_cluster(form), file = load_cluster(name);
    REQUIRE(mine.size() == file.size());
    const auto &a = mine.types().front(), &b = file.types().front();
    CHECK(a.name == b.name);
    CHECK(a.memory == b.memory);
    CHECK(a.memory_bandwidth == b.memory_bandwidth);
    CHECK(a.peak == b.peak);
    CHECK(a.multiprocessors == b.multiprocessors);
    CHECK(a.launch_overhead == b.launch_overhead);
    for (const auto& [from, to] : {std::pair{0, 1}, {0, 8}, {5, 62}}) {
      const auto mine_route = mine.route(DeviceId(from), DeviceId(to)),
                 file_route = file.route(DeviceId(from), DeviceId(to));
      CHECK(mine_route.links == file_route.links);
      CHECK(mine_route.bandwidth == file_route.bandwidth);
      CHECK(mine_route.latency == file_route.latency);
    }
  }
}

TEST_CASE("nodes may be left out, and every type loads with as many devices as a node takes") {
  CHECK(load_cluster("4xL40S").size() == 4);
  CHECK(load_cluster("8xV100-32x4").types().front().memory == core::Bytes(std::int64_t{32} << 30));
  CHECK(load_cluster("72xGB200x2").size() == 144);
  CHECK(load_cluster("8xRTX4090").size() == 8);
  CHECK(load_cluster("8xrtx4090x2").size() == 16);
  CHECK(load_cluster("4xTPU-v5p-rails").size() == 4);
  for (const auto& gpu : cluster::rented()) {
    CAPTURE(gpu.name);
    CHECK(load_cluster(std::to_string(gpu.most) + "x" + std::string(gpu.name) + "x2").size() ==
          static_cast<std::size_t>(2 * gpu.most));
    CHECK(!gpu.source.empty());
  }
}

TEST_CASE("a node's uplink is as wide as its adapters together; on rails each device has its own") {
  // Four of H100 have 4 x 400 Gb/s.
  CHECK(load_cluster("4xH100x2").route(DeviceId(0), DeviceId(4)).bandwidth == core::Bandwidth(200e9));
  const auto rails = load_cluster("4xH100x2-rails");
  const auto same = rails.route(DeviceId(1), DeviceId(5));  // over switch rail1
  CHECK(same.links.size() == 2);
  CHECK(same.bandwidth == core::Bandwidth(50e9));
  const auto across = rails.route(DeviceId(0), DeviceId(7));  // by NVLink to device 3, then over rail3
  CHECK(across.links.size() == 4);
  CHECK(rails.points()[rails.links()[across.links[1]].to] == "node0.3");
  CHECK(rails.points()[rails.links()[across.links[2]].to] == "rail3");
}

TEST_CASE("an error in a short form is named") {
  CHECK(refusal("8xH900x2")
            .starts_with(
                "cluster '8xH900x2': no GPU 'h900' is known; expected one of V100-16, V100-32, A100-40, "));
  CHECK(refusal("8xV100x4") ==
        "cluster '8xV100x4': no GPU 'v100' is known; expected V100-16 or V100-32, by its memory");
  CHECK(refusal("8xA100-80GBx2").ends_with("is known; did you mean A100-80?"));
  CHECK(refusal("4xRTX-4090x6").ends_with("did you mean RTX4090?"));
  CHECK(refusal("4x4090x6").ends_with("did you mean RTX4090?"));
  CHECK(
      refusal("2x8xA100-80").ends_with("write the GPUs of a node first and the nodes last, as in 8xH100x2"));
  CHECK(refusal("8xA100x4").ends_with("; expected A100-40 or A100-80, by its memory"));
  CHECK(refusal("16xH100") == "cluster '16xH100': expected 1 to 8 H100 per node, as in 8xH100x2");
  CHECK(refusal("0xH100x2") == "cluster '0xH100x2': expected 1 to 8 H100 per node, as in 8xH100x2");
  CHECK(refusal("8xH100x0") == "cluster '8xH100x0': expected 1 to 2048 nodes, 16384 devices together");
  CHECK(refusal("8xH100x9999") == "cluster '8xH100x9999': expected 1 to 2048 nodes, 16384 devices together");
  CHECK(refusal("8x").starts_with("cluster '8x': no GPU '' is known"));
  CHECK_FALSE(cluster::parse_short_form("summit"));
  CHECK_FALSE(cluster::parse_short_form("8"));
  CHECK_FALSE(cluster::parse_short_form("-8xH100"));
  CHECK_FALSE(cluster::parse_short_form(""));
}
