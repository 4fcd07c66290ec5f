#include "replay/cases.hpp"

#include <algorithm>

#include "penstock/score/order.hpp"
#include "support/tiny.hpp"

namespace penstock::replay::test {
namespace {

using core::Bytes;
using core::DeviceId;
using core::OpId;
using core::Random;

std::vector<std::int32_t> placed(StagePlacement placement, int ranks) {
  if (placement == StagePlacement::loop) return schedule::loop_placement(ranks, 2);
  if (placement == StagePlacement::zigzag) return schedule::zigzag_placement(ranks, 2);
  return schedule::loop_placement(ranks, 1);
}

struct ChainBuilder {
  graph::GraphBuilder builder{"chain"};
  std::vector<support::LaunchCosts::PassTime> passes;

  OpId add(Random& random) {
    const std::size_t v = passes.size();
    auto op = support::unit_op("v" + std::to_string(v), 1e9, random.between(0, 3) * 50);
    op.output_bytes = Bytes(random.between(1, 9) * 100);
    op.saved_bytes = op.output_bytes;
    builder.add(op);
    if (v > 0) builder.add_edge(OpId(v - 1), OpId(v));
    if (v > 2 && random.chance(0.2)) builder.add_edge(OpId(v - 3), OpId(v));
    passes.push_back({0.1 + random.unit() / 4, 0.1 + random.unit()});
    return OpId(v);
  }
};

/// Devices of each rank.
std::vector<std::vector<DeviceId>> random_devices(int ranks, Random& random) {
  std::vector<std::vector<DeviceId>> out(static_cast<std::size_t>(ranks));
  std::size_t next = 0;
  for (auto& devices : out)
    for (int r = random.between(1, 3); r > 0; --r) devices.emplace_back(next++);
  return out;
}

void finish(ReplayCase& out) {
  score::derive_in_flight(out.problem(), out.plan);
  out.order = score::order_of(out.problem(), out.plan);
}

}  // namespace

const std::vector<PlacedFamily>& families() {
  static const std::vector<PlacedFamily> list = {{"1f1b", StagePlacement::row},
                                                 {"gpipe", StagePlacement::row},
                                                 {"zb_h1", StagePlacement::row},
                                                 {"zb_h2", StagePlacement::row},
                                                 {"list_order", StagePlacement::row},
                                                 {"pipedream", StagePlacement::row},
                                                 {"pipedream_2bw", StagePlacement::row},
                                                 {"pipemare", StagePlacement::row},
                                                 {"pipedream_vsync", StagePlacement::row},
                                                 {"interleaved_1f1b", StagePlacement::loop},
                                                 {"looped_bfs", StagePlacement::loop},
                                                 {"zbv", StagePlacement::zigzag},
                                                 {"dualpipev", StagePlacement::zigzag},
                                                 {"hanayo", StagePlacement::zigzag}};
  return list;
}

ReplayCase random_case(const PlacedFamily& family, std::uint64_t seed) {
  Random random(seed);
  const int ranks = random.between(2, 4);
  const auto rank = placed(family.placement, ranks);
  const bool even = std::string(family.name) == "pipedream_vsync";  // it needs that
  auto devices = random_devices(ranks, random);
  for (std::size_t d = 0; even && d < devices.size(); ++d) devices[d] = {DeviceId(d)};
  const std::size_t all = devices.back().back().index() + 1;
  ChainBuilder chain;
  ReplayCase out{
      support::tiny_graph(1, {}),
      support::tiny_cluster(all, std::int64_t{1} << 40, random.chance(0.3) ? 1e9 : 300 + 5000 * random.unit(),
                            random.chance(0.5) ? 0 : random.unit() / 10),
      support::LaunchCosts({}),
      {},
      {}};
  const std::int64_t micro_batch = 3 * random.between(1, 2);
  for (const std::int32_t r : rank) {
    plan::Stage stage;
    for (int v = random.between(1, 3); v > 0; --v) stage.operators.push_back(chain.add(random));
    stage.devices = devices[static_cast<std::size_t>(r)];
    stage.micro_batch = micro_batch;
    if (std::string(family.name) == "1f1b") stage.micro_batch *= random.between(1, 2);
    if (random.chance(0.2)) stage.recompute = plan::kRecomputeStage;
    if (stage.recompute && stage.operators.size() % 2 == 0) stage.recompute = plan::kRecomputeEarly;
    out.plan.stages.push_back(stage);
  }
  out.plan.training = {micro_batch * 6 * ranks, plan::Optimizer::sgd};
  out.plan.schedule = family.name;
  out.graph = chain.builder.build();
  out.costs = support::LaunchCosts(chain.passes);
  finish(out);
  return out;
}

ReplayCase even_chain(const char* schedule, StagePlacement placement, int ranks, std::int64_t mini_batch) {
  const auto rank = placed(placement, ranks);
  std::vector<std::pair<int, int>> edges;
  for (int s = 0; s + 1 < static_cast<int>(rank.size()); ++s) edges.emplace_back(s, s + 1);
  ReplayCase out{support::tiny_graph(rank.size(), edges),
                 support::tiny_cluster(static_cast<std::size_t>(ranks), std::int64_t{1} << 40, 1e18),
                 support::LaunchCosts(std::vector<support::LaunchCosts::PassTime>(rank.size(), {0, 1})),
                 {},
                 {}};
  out.plan.training.mini_batch = mini_batch;
  out.plan.schedule = schedule;
  for (std::size_t s = 0; s < rank.size(); ++s)
    out.plan.stages.push_back({{OpId(s)}, {DeviceId(static_cast<std::size_t>(rank[s]))}, 1, 1, 0, {}});
  finish(out);
  return out;
}

}  // namespace penstock::replay::test
