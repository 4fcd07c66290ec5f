#include "planners/tensor/tensor_groups.hpp"

#include <doctest/doctest.h>

#include <set>

#include "penstock/core/error.hpp"

using namespace penstock;

namespace {

/// Nodes of so many devices each, all on one switch.
cluster::Cluster nodes(const std::vector<int>& sizes) {
  cluster::DeviceType type{"tiny", core::Bytes(1000), core::Bandwidth(1e15), {core::FlopRate(1e12)},
                           1,      core::Seconds(0)};
  std::vector<cluster::Device> devices;
  for (std::size_t n = 0; n < sizes.size(); ++n)
    for (int d = 0; d < sizes[n]; ++d) devices.push_back({0, static_cast<int>(n)});
  std::vector<cluster::Link> links;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    links.push_back({d, devices.size(), core::Bandwidth(1e9), core::Seconds(0)});
    links.push_back({devices.size(), d, core::Bandwidth(1e9), core::Seconds(0)});
  }
  return cluster::Cluster("nodes", {type}, devices, 1, links);
}

/// One replica per stage, of so many devices, in order.
plan::Plan placed(const std::vector<int>& degrees) {
  plan::Plan out;
  std::size_t device = 0;
  for (int degree : degrees) {
    auto& stage = out.stages.emplace_back();
    stage.tensor_parallel = degree;
    for (int d = 0; d < degree; ++d) stage.devices.emplace_back(device++);
  }
  return out;
}

std::vector<std::size_t> first_devices(const plan::Plan& plan) {
  std::vector<std::size_t> out;
  for (const auto& stage : plan.stages) out.push_back(stage.devices.front().index());
  return out;
}

std::vector<std::size_t> united(const cluster::Cluster& cluster, const std::vector<int>& degrees) {
  plan::Plan plan = placed(degrees);
  planners::unite_groups(cluster, plan);
  std::set<core::DeviceId> used;
  for (const auto& stage : plan.stages) used.insert(stage.devices.begin(), stage.devices.end());
  CHECK(used.size() == cluster.size());
  return first_devices(plan);
}

}  // namespace

TEST_CASE("tensor groups: powers of two up to the fullest node, or to the limit of the options") {
  planners::SearchOptions options;
  CHECK(planners::tensor_degrees(nodes({1, 1}), options) == std::vector{1});
  CHECK(planners::tensor_degrees(nodes({2, 7}), options) == std::vector{1, 2, 4});
  CHECK(planners::tensor_degrees(nodes({8}), options) == std::vector{1, 2, 4, 8});
  options.max_tensor_parallel = 3;
  CHECK(planners::tensor_degrees(nodes({8}), options) == std::vector{1, 2});
  options.max_tensor_parallel = 1;
  CHECK(planners::tensor_degrees(nodes({8}), options) == std::vector{1});
  options.max_tensor_parallel = 0;
  CHECK_THROWS_AS(planners::tensor_degrees(nodes({8}), options), core::BadInput);
}

TEST_CASE("tensor groups: stages move so that no group is on two nodes") {
  const auto two = nodes({4, 4});
  CHECK(planners::split_groups(two, placed({1, 4, 1, 1, 1})) == 1);
  CHECK(planners::split_groups(two, placed({4, 1, 2, 1})) == 0);  // 5 and 6 share the second node
  CHECK(united(two, {4, 1, 2, 1}) == std::vector<std::size_t>{0, 4, 5, 7});
  // The first single goes before the four, the others fill its node.
  CHECK(united(two, {1, 4, 1, 1, 1}) == std::vector<std::size_t>{0, 4, 1, 2, 3});
  // Behind a single no four is left whole on five devices: it must go first.
  CHECK(united(nodes({4, 1}), {1, 4}) == std::vector<std::size_t>{4, 0});
  // Three pairs on two nodes of three: one is split whatever the order.
  CHECK(united(nodes({3, 3}), {2, 2, 2}) == std::vector<std::size_t>{0, 2, 4});
}
