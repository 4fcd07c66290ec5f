#include "planners/local/placement_form.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "penstock/core/random.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using planners::PlacementForm;

namespace {

/// Nodes of two devices below a switch each, and one switch above; links of node `slow` carry half.
cluster::Cluster nodes(std::size_t count, std::size_t slow = 99) {
  cluster::DeviceType type{
      "tiny", core::Bytes(std::int64_t{1} << 40), core::Bandwidth(1e15), {core::FlopRate(1e12)}};
  std::vector<cluster::Device> devices;
  std::vector<cluster::Link> links;
  const auto cable = [&](std::size_t a, std::size_t b, double bandwidth) {
    links.push_back({a, b, core::Bandwidth(bandwidth), core::Seconds(0)});
    links.push_back({b, a, core::Bandwidth(bandwidth), core::Seconds(0)});
  };
  for (std::size_t d = 0; d < 2 * count; ++d) {
    devices.push_back({0, static_cast<int>(d / 2)});
    cable(d, 2 * count + d / 2, 4000);
  }
  for (std::size_t n = 0; n < count; ++n) cable(2 * count + n, 3 * count, n == slow ? 500 : 1000);
  return {"nodes", {type}, devices, count + 1, links};
}

/// One operator per stage; the devices of each.
std::vector<plan::Stage> stages(const std::vector<std::vector<std::size_t>>& devices) {
  std::vector<plan::Stage> out;
  for (std::size_t s = 0; s < devices.size(); ++s) {
    out.push_back({{core::OpId(s)}, {}, static_cast<std::int64_t>(devices[s].size()), 1, 0, {}});
    for (const std::size_t d : devices[s]) out.back().devices.emplace_back(d);
  }
  return out;
}

}  // namespace

TEST_CASE("like devices and like nodes may change places") {
  const PlacementForm form(nodes(3));
  const auto first = form.of(stages({{0}, {1}, {2, 4}}));
  REQUIRE(first);
  CHECK(form.of(stages({{1}, {0}, {2, 4}})) == first);  // within a node
  CHECK(form.of(stages({{4}, {5}, {3, 1}})) == first);  // whole nodes
  CHECK(form.of(stages({{0}, {2}, {1, 4}})) != first);  // the first two no longer share a node
  CHECK(form.of(stages({{2}, {1}, {0, 4}})) != first);
}

TEST_CASE("a node with slower links is another one") {
  const PlacementForm form(nodes(3, 1));
  CHECK(form.of(stages({{0}, {4}})) == form.of(stages({{5}, {1}})));
  CHECK(form.of(stages({{0}, {4}})) != form.of(stages({{0}, {2}})));
}

TEST_CASE("a network that is no tree, or nodes that its points do not show, have no form") {
  const auto whole = nodes(3);
  auto links = whole.links();
  links.push_back({6, 7, core::Bandwidth(1000), core::Seconds(0)});  // from switch to switch
  CHECK(!PlacementForm({"circle", whole.types(), whole.devices(), 4, links}).of(stages({{0}, {1}})));
  auto devices = whole.devices();
  devices[1].node = 1;  // below the switch of node 0
  CHECK(!PlacementForm({"strange", whole.types(), devices, 4, whole.links()}).of(stages({{0}, {1}})));
}

TEST_CASE("placements of one form take equally long") {
  // Random ones of four stages on six of eight devices: whatever two have one form, have one time.
  const auto cluster = nodes(4);
  const auto graph = support::tiny_graph(4, {{0, 1}, {1, 2}, {2, 3}, {0, 2}});
  const support::FixedCosts costs({0.5, 1, 1, 0.7}, {1, 2, 1.5, 1});
  const cost::Problem problem{graph, cluster, costs, {16, plan::Optimizer::sgd}};
  const PlacementForm form(cluster);
  std::map<std::string, core::Picoseconds> times;
  core::Random random(1);
  int alike = 0;
  for (int trial = 0; trial < 800; ++trial) {
    std::vector<std::size_t> order(8);
    std::iota(order.begin(), order.end(), 0);
    for (int i = 7; i > 0; --i)
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.between(0, i))]);
    plan::Plan plan;
    plan.training = problem.training;
    plan.stages = stages({{order[0]}, {order[1], order[2]}, {order[3]}, {order[4], order[5]}});
    for (auto& stage : plan.stages) stage.in_flight = 8;
    const auto time = sim::simulate_time(problem, {graph, plan});
    const auto [known, fresh] = times.emplace(*form.of(plan.stages), time);
    CHECK(std::abs(known->second.value() - time.value()) <= 2);  // flows' rates are rounded
    alike += !fresh;
  }
  CHECK(times.size() > 20);
  CHECK(alike > 200);
}
