#include "support/random_plan.hpp"

#include <array>

#include "penstock/core/random.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/score/order.hpp"

namespace penstock::support {
namespace {

using core::DeviceId;
using core::OpId;
using core::Random;

enum class DrawnPlacement { row, loop, zigzag };
struct DrawnFamily {
  const char* name;
  DrawnPlacement placement;
};
constexpr std::array<DrawnFamily, 12> kFamilies = {{{"1f1b", DrawnPlacement::row},
                                                    {"gpipe", DrawnPlacement::row},
                                                    {"zb_h1", DrawnPlacement::row},
                                                    {"zb_h2", DrawnPlacement::row},
                                                    {"list_order", DrawnPlacement::row},
                                                    {"pipedream", DrawnPlacement::row},
                                                    {"pipedream_2bw", DrawnPlacement::row},
                                                    {"interleaved_1f1b", DrawnPlacement::loop},
                                                    {"looped_bfs", DrawnPlacement::loop},
                                                    {"zbv", DrawnPlacement::zigzag},
                                                    {"dualpipev", DrawnPlacement::zigzag},
                                                    {"hanayo", DrawnPlacement::zigzag}}};

std::vector<std::int32_t> placed(DrawnPlacement placement, int ranks) {
  if (placement == DrawnPlacement::loop) return schedule::loop_placement(ranks, 2);
  if (placement == DrawnPlacement::zigzag) return schedule::zigzag_placement(ranks, 2);
  return schedule::loop_placement(ranks, 1);
}

/// The devices of each rank: replicas of one to `most` devices each.
struct RankGroups {
  std::vector<int> size;           ///< [rank]
  std::vector<std::size_t> first;  ///< [rank] device; one more than ranks
};
RankGroups random_groups(int ranks, std::size_t replicas, int most, Random& random) {
  RankGroups out{{}, {0}};
  for (int r = 0; r < ranks; ++r) {
    out.size.push_back(most == 1 ? 1 : random.between(1, most));
    out.first.push_back(out.first.back() + replicas * static_cast<std::size_t>(out.size.back()));
  }
  return out;
}

/// Recomputation, partitions, shares and ZeRO of one stage, or nothing of them.
void shard(plan::Stage& stage, bool flushes, Random& random) {
  if (random.chance(0.2)) stage.recompute = plan::kRecomputeStage;
  if (stage.recompute && random.chance(0.3)) stage.recompute = plan::kRecomputeEarly;
  const bool zero = flushes && random.chance(0.5);
  if (zero) stage.zero = random.between(1, 3);
  if (stage.tensor_parallel == 1) return;
  stage.sequence_parallel = random.chance(0.3);
  if (random.chance(0.5))
    for (int i = 0; i < stage.tensor_parallel; ++i) stage.shares.push_back(random.between(1, 5));
  for (const OpId op : stage.operators)
    if (random.chance(0.5))
      stage.partition[op] =
          static_cast<plan::Partition>(2 * random.between(0, 1) + (zero ? 0 : random.between(0, 1)));
}

RandomPlan random_chain(const DrawnFamily& family, int most_group, Random& random) {
  const int ranks = random.between(2, 4);
  const auto replicas = static_cast<std::size_t>(random.between(1, 3));
  const auto rank = placed(family.placement, ranks);
  const RankGroups groups = random_groups(ranks, replicas, most_group, random);
  graph::GraphBuilder builder("chain");
  std::vector<support::LaunchCosts::PassTime> passes;
  RandomPlan out{support::tiny_graph(1, {}),
                 support::tiny_cluster(groups.first.back(), std::int64_t{1} << 40,
                                       random.chance(0.3) ? 1e9 : 300 + 5000 * random.unit(),
                                       random.chance(0.5) ? 0 : random.unit() / 10),
                 support::LaunchCosts({}),
                 {}};
  std::size_t count = 0;
  for (std::size_t s = 0; s < rank.size(); ++s) {
    plan::Stage stage;
    for (int v = random.between(1, 3); v > 0; --v) {
      auto op = support::unit_op("v" + std::to_string(count), 1e9, random.between(0, 3) * 50);
      op.output_bytes = core::Bytes(random.between(1, 9) * 100);
      op.saved_bytes = op.output_bytes + core::Bytes(random.between(0, 5) * 100);
      builder.add(op);
      if (count > 0) builder.add_edge(OpId(count - 1), OpId(count));
      if (count > 2 && random.chance(0.2)) builder.add_edge(OpId(count - 3), OpId(count));
      passes.push_back({random.unit() / 4, 0.1 + random.unit()});
      stage.operators.emplace_back(count++);
    }
    const auto on = static_cast<std::size_t>(rank[s]);
    for (std::size_t d = groups.first[on]; d < groups.first[on + 1]; ++d) stage.devices.emplace_back(d);
    stage.tensor_parallel = groups.size[on];
    out.plan.stages.push_back(stage);
  }
  const std::int64_t micro_batch = random.between(1, 4);
  for (plan::Stage& stage : out.plan.stages) stage.micro_batch = micro_batch;
  const std::int64_t turns = static_cast<std::int64_t>(replicas) * random.between(2, 3);
  out.plan.training = {micro_batch * turns * 2 * ranks, plan::Optimizer::sgd};
  out.plan.schedule = family.name;
  if (most_group > 1) {
    for (plan::Stage& stage : out.plan.stages) shard(stage, !plan::asynchronous(out.plan), random);
    if (random.chance(0.5))
      out.plan.training.precision = plan::MixedPrecision{cluster::Precision::fp32, cluster::Precision::bf16,
                                                         cluster::Precision::fp16, cluster::Precision::fp32};
    out.plan.training.compression = {0.1 + 0.9 * random.unit(), 0.1 + 0.9 * random.unit()};
  }
  out.graph = builder.build();
  out.costs = support::LaunchCosts(passes);
  return out;
}

sim::SimulationOptions random_options(Random& random) {
  sim::SimulationOptions options;
  options.network = random.chance(0.5) ? sim::NetworkModel::fifo : sim::NetworkModel::fair;
  options.collective =
      sim::collective(sim::collective_names()[static_cast<std::size_t>(random.between(0, 5))]);
  return options;
}

}  // namespace

RandomPlan random_plan(std::uint64_t seed, int most_group) {
  Random random(seed);
  RandomPlan out = random_chain(kFamilies[seed % kFamilies.size()], most_group, random);
  score::derive_in_flight(out.problem(), out.plan);
  out.options = random_options(random);
  if (random.chance(0.5)) out.plan.training.bucket = core::Bytes(random.between(1, 600));
  return out;
}

}  // namespace penstock::support
