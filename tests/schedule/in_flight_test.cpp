#include "penstock/schedule/in_flight.hpp"

#include <doctest/doctest.h>

#include "support/tiny.hpp"

using namespace penstock;
using schedule::demanded_in_flight;

namespace {

/// A chain of stages, one operator each, with these micro-batch sizes; its in-flight counts by the rule.
std::vector<std::int64_t> chain(const std::vector<std::int64_t>& micro_batches, std::int64_t mini_batch,
                                schedule::InFlight rule = schedule::InFlight::depth) {
  std::vector<std::pair<int, int>> edges;
  for (std::size_t s = 0; s + 1 < micro_batches.size(); ++s)
    edges.emplace_back(static_cast<int>(s), static_cast<int>(s + 1));
  const auto graph = support::tiny_graph(micro_batches.size(), edges);
  plan::Plan p;
  p.training.mini_batch = mini_batch;
  for (std::size_t s = 0; s < micro_batches.size(); ++s)
    p.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, micro_batches[s], 1, 0, {}});
  schedule::derive_in_flight(p, plan::StageGraph(graph, p), rule);
  std::vector<std::int64_t> out;
  for (const auto& stage : p.stages) out.push_back(stage.in_flight);
  return out;
}

}  // namespace

TEST_CASE("equal micro-batches: one more micro-batch per stage towards the source") {
  CHECK(chain({1, 1, 1, 1}, 8) == std::vector<std::int64_t>{4, 3, 2, 1});
  // Never more than the mini-batch.
  CHECK(chain({1, 1, 1, 1}, 2) == std::vector<std::int64_t>{2, 2, 2, 1});
}

TEST_CASE("a transfer that is hidden is a stage more: twice the depth, less one") {
  constexpr auto kHide = schedule::InFlight::hide_transfers;
  CHECK(chain({1, 1, 1, 1}, 8, kHide) == std::vector<std::int64_t>{7, 5, 3, 1});
  CHECK(chain({2, 2, 2}, 8, kHide) == std::vector<std::int64_t>{8, 6, 2});
  // The sender's micro-batch of 4 is on its way while the next stage works on single samples.
  CHECK(chain({4, 1}, 32, kHide) == std::vector<std::int64_t>{12, 1});
  CHECK(chain({1, 4}, 32, kHide) == std::vector<std::int64_t>{9, 4});
}

TEST_CASE("GraphPipe Fig. 5: micro-batches 1, 2, 4 hold 10 samples in the first stage, uniform 4 hold 12") {
  CHECK(chain({1, 2, 4}, 32)[0] == 10);
  CHECK(chain({4, 4, 4}, 32)[0] == 12);
}

TEST_CASE("a larger micro-batch in front waits for its own size") {
  // x = 4, y = 1 holding 1: 1 + 2*4 - 1 = 8.
  CHECK(demanded_in_flight({4, 1}, 1, {1, 1}) == 8);
  // x = 1, y = 4 holding 4: 4 + 4 = 8.
  CHECK(demanded_in_flight({1, 1}, 4, {4, 1}) == 8);
}

TEST_CASE("with several successors the most demanding counts; CANDLE-Uno's strategy file") {
  // Four towers, "cell tower + concat", top: the towers feed the concat stage, which feeds the top.
  // The authors' file holds 3 micro-batches in four towers, 2 at the concat, 1 at the top (graph version).
  const auto graph = support::tiny_graph(6, {{0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 5}});
  plan::Plan p;
  p.training.mini_batch = 512;
  for (std::size_t s = 0; s < 6; ++s)
    p.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, 64, 1, 0, {}});
  schedule::derive_in_flight(p, plan::StageGraph(graph, p));
  std::vector<std::int64_t> held;
  for (const auto& stage : p.stages) held.push_back(stage.in_flight / 64);
  CHECK(held == std::vector<std::int64_t>{3, 3, 3, 3, 2, 1});
  // The sequential version of the same file: six stages, 6 down to 1.
  CHECK(chain({64, 64, 64, 64, 64, 64}, 512) == std::vector<std::int64_t>{384, 320, 256, 192, 128, 64});
}

TEST_CASE(
    "PipeDream holds the replicas from here on over its own, rounded up; the most demanding successor") {
  // Harlap et al., section 3.2: NOAM = ceil(machines / machines of the input stage).
  const auto held = [](const std::vector<int>& replicas) {
    std::vector<std::pair<int, int>> edges;
    for (std::size_t s = 0; s + 1 < replicas.size(); ++s)
      edges.emplace_back(static_cast<int>(s), static_cast<int>(s + 1));
    const auto graph = support::tiny_graph(replicas.size(), edges);
    plan::Plan p;
    p.training.mini_batch = 32;
    p.schedule = "pipedream";
    std::size_t device = 0;
    for (std::size_t s = 0; s < replicas.size(); ++s) {
      plan::Stage& stage = p.stages.emplace_back();
      stage.operators = {core::OpId(s)};
      for (int r = 0; r < replicas[s]; ++r) stage.devices.emplace_back(device++);
      stage.micro_batch = 4;
    }
    schedule::derive_in_flight(p, plan::StageGraph(graph, p));
    std::vector<std::int64_t> out;
    for (const auto& stage : p.stages) out.push_back(stage.in_flight / stage.micro_batch);
    return out;
  };
  CHECK(held({2, 1}) == std::vector<std::int64_t>{2, 1});        // ceil(3 / 2)
  CHECK(held({3, 1, 1}) == std::vector<std::int64_t>{2, 2, 1});  // ceil(5 / 3)
  CHECK(held({1, 3}) == std::vector<std::int64_t>{4, 1});
  // Two successors, with micro-batches of four and of one: the first demands eight, the last two.
  const auto graph = support::tiny_graph(3, {{0, 1}, {0, 2}});
  plan::Plan p;
  p.training.mini_batch = 32;
  for (std::size_t s = 0; s < 3; ++s)
    p.stages.push_back({{core::OpId(s)}, {core::DeviceId(s)}, s == 1 ? 4 : 1, 1, 0, {}});
  schedule::derive_in_flight(p, plan::StageGraph(graph, p));
  CHECK(p.stages[0].in_flight == 8);
}
