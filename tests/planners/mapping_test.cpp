#include "src/planners/rows/mapping.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "penstock/core/random.hpp"

using namespace penstock;
using planners::MappedStage;
using planners::MappingCosts;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// 1 to 7 layers on 1 to 6 devices of different speeds; transfers are dear for half of the seeds, room is
/// scarce for half.
MappingCosts random_costs(std::uint64_t seed) {
  core::Random random(seed);
  MappingCosts costs;
  costs.layers = random.between(1, 7);
  costs.devices = random.between(1, 6);
  costs.micro_batches = random.between(1, 6);
  for (int r = 1; r <= costs.devices; r = random.chance(0.5) ? r + 1 : 2 * r) costs.replicas.push_back(r);
  const bool tight = random.chance(0.5);
  const double transfer = random.chance(0.5) ? 4 : 0.5;
  for (int i = 0; i < costs.devices; ++i) {
    costs.slice.emplace_back();
    for (int r : costs.replicas) {
      if (i + r > costs.devices) {
        costs.slice.back().push_back(-1);
        continue;
      }
      costs.slice.back().push_back(static_cast<int>(costs.stage.size()));
      costs.stage.emplace_back(costs.range(costs.layers, costs.layers) + 1);
      costs.room.emplace_back(costs.stage.back().size());
      for (int begin = 0; begin < costs.layers; ++begin) {
        double sum = random.unit();
        for (int end = begin + 1; end <= costs.layers; ++end) {
          costs.stage.back()[costs.range(begin, end)] = (sum += random.unit()) / r;
          costs.room.back()[costs.range(begin, end)] = tight ? random.between(0, 4) : costs.micro_batches;
        }
      }
    }
  }
  costs.transfer.resize(costs.junction(costs.devices, 0, 0));
  for (auto& cuts : costs.transfer)
    for (int cut = 0; cut <= costs.layers; ++cut) cuts.push_back(transfer * random.unit());
  return costs;
}

std::size_t degree(const MappingCosts& costs, int count) {
  std::size_t r = 0;
  while (costs.replicas[r] != count) ++r;
  return r;
}

/// The slowest stage or link, from the definition; infinite where a stage lacks room.
double slowest(const MappingCosts& costs, const std::vector<MappedStage>& stages) {
  double slowest = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const MappedStage& stage = stages[s];
    const auto slice = static_cast<std::size_t>(
        costs.slice[static_cast<std::size_t>(stage.device)][degree(costs, stage.count)]);
    const std::size_t range = costs.range(stage.begin, stage.end);
    if (costs.room[slice][range] < std::min(static_cast<int>(stages.size() - s), costs.micro_batches))
      return kNever;
    slowest = std::max(slowest, costs.stage[slice][range]);
    if (s + 1 == stages.size()) continue;
    const std::size_t junction =
        costs.junction(stage.device, degree(costs, stage.count), degree(costs, stages[s + 1].count));
    slowest = std::max(slowest, costs.transfer[junction][static_cast<std::size_t>(stage.end)]);
  }
  return slowest;
}

/// By stage count, the least over every mapping there is.
std::vector<double> exhaustive(const MappingCosts& costs) {
  std::vector<double> least(static_cast<std::size_t>(costs.devices) + 1, kNever);
  std::vector<MappedStage> chosen;
  const std::function<void(int, int)> extend = [&](int layer, int device) {
    if (layer == costs.layers && device == costs.devices)
      least[chosen.size()] = std::min(least[chosen.size()], slowest(costs, chosen));
    for (int end = layer + 1; end <= costs.layers; ++end)
      for (int r : costs.replicas) {
        if (device + r > costs.devices) continue;
        chosen.push_back({layer, end, device, r});
        extend(end, device + r);
        chosen.pop_back();
      }
  };
  extend(0, 0);
  return least;
}

}  // namespace

TEST_CASE("for every stage count the mapping is the best of all mappings") {
  int possible = 0, impossible = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    CAPTURE(seed);
    const MappingCosts costs = random_costs(seed);
    const planners::MappingTable mapping(costs, costs.devices, kNever, {});
    const auto expected = exhaustive(costs);
    const double limit = expected[1] * 0.5;  // of stages: half of the time that one takes by itself
    const planners::MappingTable limited(costs, costs.devices, limit, {});
    CHECK(mapping.most_stages() == std::min(costs.layers, costs.devices));
    for (int count = 1; count <= mapping.most_stages(); ++count) {
      CAPTURE(count);
      CHECK(mapping.bottleneck(count) == expected[static_cast<std::size_t>(count)]);
      if (expected[static_cast<std::size_t>(count)] < limit)
        CHECK(limited.bottleneck(count) == mapping.bottleneck(count));
      if (mapping.bottleneck(count) == kNever) {
        ++impossible;
        continue;
      }
      ++possible;
      const auto stages = mapping.stages(count);
      CHECK(static_cast<int>(stages.size()) == count);
      CHECK(slowest(costs, stages) == mapping.bottleneck(count));
    }
  }
  CHECK(possible > 500);  // both are common
  CHECK(impossible > 200);
}

TEST_CASE("a fast device gets more layers, and a slow link moves the cut") {
  // Four layers of 1 s on a fast device, 3 s on a slow one. 3 + 1: both take 3 s. If the last cut costs 5 s,
  // 2 + 2: 6 s on the slow one lose to 5 s; at 7 s they win.
  MappingCosts costs;
  costs.layers = 4;
  costs.devices = 2;
  costs.replicas = {1};
  costs.slice = {{0}, {1}};
  for (double each : {1.0, 3.0}) {
    costs.stage.emplace_back(25);
    costs.room.emplace_back(25, 1);
    for (int begin = 0; begin < 4; ++begin)
      for (int end = begin + 1; end <= 4; ++end)
        costs.stage.back()[costs.range(begin, end)] = each * (end - begin);
  }
  for (const auto& [cut, end, time] : {std::tuple{0.0, 3, 3.0}, {5.0, 3, 5.0}, {7.0, 2, 6.0}}) {
    costs.transfer = {{0, 0, 0, cut, 0}, {}};
    const planners::MappingTable mapping(costs, 2, kNever, {});
    CHECK(mapping.bottleneck(2) == time);
    CHECK(mapping.stages(2) == std::vector<MappedStage>{{0, end, 0, 1}, {end, 4, 1, 1}});
  }
}
