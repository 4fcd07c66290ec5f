#include "penstock/score/plan_pipeline.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/schedule/list_order.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "src/score/exposed_reduction.hpp"
#include "src/score/rank_memory.hpp"
#include "support/fixed_costs.hpp"
#include "support/matrices.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using core::Picoseconds;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000'000;  // ps

/// Three operators in a row, 1 ms forward and 2 ms backward per sample; tensors of 1 kB per sample.
struct OperatorRow {
  graph::OpGraph graph = support::tiny_graph(3, {{0, 1}, {1, 2}});
  support::FixedCosts costs = support::FixedCosts::uniform(3, 1e-3, 2e-3);
  cluster::Cluster cluster = support::tiny_cluster(4, std::int64_t{1} << 40, 1e6, 5e-4);
  plan::Plan plan;
  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
};

/// Two stages: operators 0 and 1 on devices 0 and 1, operator 2 on devices 2 and 3; micro-batches of 4 of 16
/// samples.
OperatorRow two_by_two() {
  OperatorRow out;
  out.plan.training.mini_batch = 16;
  out.plan.stages = {{{OpId(0), OpId(1)}, {DeviceId(0), DeviceId(1)}, 4, 1, 8, {}},
                     {{OpId(2)}, {DeviceId(2), DeviceId(3)}, 4, 1, 0, {}}};
  return out;
}

}  // namespace

TEST_CASE("a plan with one micro-batch size: a machine per device, a link per pair that shares samples") {
  // Two samples per replica: 2 * 2 ms forward; 2 kB at 1 MB/s take 2 ms, over two cables of 0.5 ms latency
  // each.
  const OperatorRow row = two_by_two();
  const auto devices = score::device_pipeline(row.problem(), row.plan);
  REQUIRE(devices.stages.size() == 4);
  REQUIRE(devices.links.size() == 2);
  CHECK(devices.micro_batches == 4);
  CHECK(devices.stages[0].forward == Picoseconds(4 * kMillisecond));
  CHECK(devices.stages[1].backward == Picoseconds(8 * kMillisecond));
  CHECK(devices.stages[2].forward == Picoseconds(2 * kMillisecond));
  CHECK(devices.stages[0].room == 2);
  CHECK(devices.stages[2].room == 0);
  CHECK(devices.links[1].from == 1);
  CHECK(devices.links[1].to == 3);
  CHECK(devices.links[1].forward == Picoseconds(2 * kMillisecond));
  CHECK(devices.links[1].forward_latency == Picoseconds(kMillisecond));

  const auto stages = score::pipeline_of(row.problem(), row.plan);
  REQUIRE(stages.stages.size() == 2);
  REQUIRE(stages.links.size() == 1);
  CHECK(stages.stages[0].backward == Picoseconds(8 * kMillisecond));
  CHECK(stages.stages[0].room == 2);
  CHECK(stages.links[0].forward_latency == Picoseconds(kMillisecond));
}

TEST_CASE("replicas of uneven share: three samples over two devices, two devices over three") {
  //   samples   0    1    2
  //   stage 0   a    b    b      (1 and 2)
  //   stage 1   c    d    e      (1 each): messages a-c, b-d, b-e
  OperatorRow row = two_by_two();
  row.cluster = support::tiny_cluster(5, std::int64_t{1} << 40, 1e6);
  row.plan.training.mini_batch = 6;
  row.plan.stages[0].micro_batch = row.plan.stages[1].micro_batch = 3;
  row.plan.stages[1].devices.emplace_back(4);
  const auto devices = score::device_pipeline(row.problem(), row.plan);
  CHECK(devices.stages[0].forward == Picoseconds(2 * kMillisecond));
  CHECK(devices.stages[1].forward == Picoseconds(4 * kMillisecond));
  REQUIRE(devices.links.size() == 3);
  const std::vector<std::pair<int, int>> ends = {{0, 2}, {1, 3}, {1, 4}};
  for (std::size_t e = 0; e < 3; ++e) {
    CHECK(std::pair(devices.links[e].from, devices.links[e].to) == ends[e]);
    CHECK(devices.links[e].backward == Picoseconds(kMillisecond));
  }
  // The stage is as slow as its fullest replica.
  CHECK(score::pipeline_of(row.problem(), row.plan).stages[0].forward == Picoseconds(4 * kMillisecond));
}

TEST_CASE("replicated weights are reduced after the last backward") {
  // 1000 weights of 4 bytes on a ring of two. That is 4 kB over a route of 1 MB/s and 1 ms, 2 steps of half:
  // 4 ms + 2 ms.
  OperatorRow row = two_by_two();
  graph::GraphBuilder builder("weights");
  for (int v = 0; v < 3; ++v) builder.add(support::unit_op(std::to_string(v), 1e9, v == 2 ? 1000 : 0));
  for (std::size_t v = 0; v < 2; ++v) builder.add_edge(OpId(v), OpId(v + 1));
  row.graph = builder.build();
  const auto stages = score::pipeline_of(row.problem(), row.plan).stages;
  CHECK(stages[0].after == Picoseconds(0));
  CHECK(stages[1].after == Picoseconds(6 * kMillisecond));
  // All in one stage: 4 micro-batches of 2 samples on each device at 9 ms. Where gradients may be reduced
  // meanwhile, message by message, that is all.
  row.plan.stages = {{{OpId(0), OpId(1), OpId(2)}, {DeviceId(0), DeviceId(1)}, 4, 1, 4, {}}};
  CHECK(score::lower_bound(row.problem(), row.plan)->time == Picoseconds(78 * kMillisecond));
  CHECK(score::lower_bound(row.problem(), row.plan, score::ReductionTiming::free)->time ==
        Picoseconds(72 * kMillisecond));
}

TEST_CASE("the exposed part of a bucketed all-reduce is in the bound, the hidden part is not") {
  // Four operators of 1 s forward and 1 s backward, 1 kB of gradients each, on two replicas. That is a pass
  // of 4 s each way and what is left. At 1 kB/s a bucket takes 1 s: of one each the last is left, of two the
  // last two, of all four 4 s. At 500 B/s it takes 2 s: the first is there after 1 s and four take 8 s, so 5
  // s are left.
  graph::GraphBuilder builder("row");
  for (std::size_t v = 0; v < 4; ++v) {
    builder.add(support::unit_op(std::to_string(v), 1e9, 250));
    if (v > 0) builder.add_edge(OpId(v - 1), OpId(v));
  }
  OperatorRow row;
  row.graph = builder.build();
  row.costs = support::FixedCosts::uniform(4, 1, 1);
  row.plan.training.mini_batch = 2;
  row.plan.stages = {{{OpId(0), OpId(1), OpId(2), OpId(3)}, {DeviceId(0), DeviceId(1)}, 2, 1, 2, {}}};
  for (const auto& [bandwidth, bucket, left] :
       {std::tuple{1e3, 0, 4.0}, {1e3, 1, 1.0}, {1e3, 1000, 1.0}, {1e3, 1001, 2.0}, {500.0, 1, 5.0}}) {
    row.cluster = support::tiny_cluster(2, std::int64_t{1} << 40, bandwidth);
    row.plan.training.bucket = core::Bytes(bucket);
    const auto simulated = sim::simulate_time(row.problem(), score::scheduled(row.problem(), row.plan), {});
    CHECK(to_seconds(simulated).value() == support::near(8 + left));
    CHECK(to_seconds(score::lower_bound(row.problem(), row.plan)->time).value() == support::near(8 + left));
    CHECK(score::least_iteration(row.problem(), row.plan, score::ReductionTiming::closed_form).value() ==
          support::near(8 + left));
  }
}

TEST_CASE("the bound of a plan names its kind and device") {
  // Device 0 works 4 * 12 ms = 48 ms with nothing before or after. With room for two micro-batches: a round
  // trip is 12 + 6 ms of passes and 2 * 3 ms of transfers, 24 ms. Two of them and one more backward of 8 ms:
  // 56 ms.
  OperatorRow row = two_by_two();
  const auto tight = score::lower_bound(row.problem(), row.plan);
  REQUIRE(tight);
  CHECK(tight->kind == score::BoundKind::memory);
  CHECK(tight->where == "device 0 (stage 0)");
  CHECK(tight->time == Picoseconds(56 * kMillisecond));
  row.plan.stages[0].in_flight = 16;
  const auto roomy = score::lower_bound(row.problem(), row.plan);
  REQUIRE(roomy);
  CHECK(roomy->kind == score::BoundKind::work);
  CHECK(roomy->time == Picoseconds(48 * kMillisecond));
  // At 0.1 MB/s a message takes 20 ms, 4 in a row each way. Before the first 4 ms, after the last the rest of
  // the chain: latency 1, passes 2 + 4, back 21, backward 8.
  row.cluster = support::tiny_cluster(4, std::int64_t{1} << 40, 1e5, 5e-4);
  const auto slow = score::lower_bound(row.problem(), row.plan);
  CHECK(slow->where == "devices 0 to 2 (stage 0 to 1)");
  CHECK(slow->time == Picoseconds((4 + 80 + 1 + 6 + 21 + 8) * kMillisecond));
}

TEST_CASE("stages of different micro-batch sizes have no bound") {
  OperatorRow row = two_by_two();
  row.plan.stages[1].micro_batch = 8;
  CHECK_FALSE(score::one_micro_batch_size(row.plan));
  CHECK_FALSE(score::lower_bound(row.problem(), row.plan));
  CHECK_THROWS_WITH_AS(score::pipeline_of(row.problem(), row.plan),
                       "stages[1]: micro-batches of 8 samples, stages[0] has 4; a pipeline has one size",
                       core::BadInput);
}

TEST_CASE("a bound hides all-reduces behind what is computed again, too") {
  // Two matrices of 4 kB, a bucket each: 4 us over a ring of two. Of the last pass a's part, 1 us of
  // gradients and 1 us computed again, hides some of b's all-reduce.
  const auto g = support::matrices(2);
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(2, 1e-6, 1e-6);
  plan::Training training{2};
  training.bucket = core::Bytes(4000);
  const cost::Problem problem{g, cluster, costs, training};
  auto stage = support::stage(0, 1, 2, 1);
  stage.micro_batch = 2;
  const auto exposed = [&] {
    return score::ExposedReduction(problem, stage, stage.operators).time(0, 1).value();
  };
  CHECK(exposed() == support::near(8e-6 - 1e-6, 1e-5));
  stage.recompute = plan::kRecomputeStage;
  CHECK(exposed() == support::near(8e-6 - 2e-6, 1e-5));
}

TEST_CASE("a bound shows the last bucket's all-reduce even where the pass hides the others") {
  const auto g = support::matrices(2);
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(2, 6e-6, 6e-6);
  plan::Training training{2};
  training.bucket = core::Bytes(4000);
  const cost::Problem problem{g, cluster, costs, training};
  auto stage = support::stage(0, 1, 2, 1);
  stage.micro_batch = 2;
  // 4 us each: a's backward pass of 6 us hides b's, and nothing hides a's.
  CHECK(score::ExposedReduction(problem, stage, stage.operators).time(0, 1).value() ==
        support::near(4e-6, 1e-5));
}

TEST_CASE("recomputation is early only if the plan has it so") {
  OperatorRow row = two_by_two();
  const auto early = [&](plan::Recomputation how) {
    row.plan.stages[0].recompute = how;
    return score::device_pipeline(row.problem(), row.plan).stages[0];
  };
  // Forward again: two operators of two samples, 4 ms before the backward pass's 8.
  CHECK(early(plan::kRecomputeStage).early == Picoseconds(0));
  CHECK(early(plan::kRecomputeStage).backward == Picoseconds(12 * kMillisecond));
  CHECK(early(plan::kRecomputeEarly).early == Picoseconds(4 * kMillisecond));
  CHECK(early(plan::kRecomputeEarly).backward == Picoseconds(12 * kMillisecond));
}

TEST_CASE("a message between groups goes in parts, compressed, and is as slow as the slowest part") {
  OperatorRow row = two_by_two();
  row.plan.training.compression.activations = 0.5;
  CHECK(score::device_pipeline(row.problem(), row.plan).links[0].forward == Picoseconds(kMillisecond));
  row.plan.training.compression = {};
  // Pairs of devices instead of replicas: four samples are 4 kB, 2 kB for each pair of partners.
  for (auto& stage : row.plan.stages) stage.tensor_parallel = 2;
  const auto link = [&] { return score::device_pipeline(row.problem(), row.plan).links.at(0).forward; };
  CHECK(link() == Picoseconds(2 * kMillisecond));
  // Cables of 0.5 MB/s of the first or the last partner.
  for (const std::size_t slow : {0, 1, 2, 3}) {
    std::vector<cluster::Link> links;
    for (std::size_t d = 0; d < 4; ++d) {
      links.push_back({d, 4, core::Bandwidth(d == slow ? 5e5 : 1e6), core::Seconds(0)});
      links.push_back({4, d, core::Bandwidth(d == slow ? 5e5 : 1e6), core::Seconds(0)});
    }
    row.cluster = cluster::Cluster("uneven", support::tiny_cluster(1).types(),
                                   std::vector<cluster::Device>(4), 1, links);
    CHECK(link() == Picoseconds(4 * kMillisecond));
  }
}

TEST_CASE("a recomputed stage keeps one micro-batch whole; stashed weights are counted") {
  const auto g = support::matrices(2);
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(2, 1e-3, 2e-3);
  plan::Plan p;
  p.training.mini_batch = 8;
  p.stages = {support::stage(0, 1, 1, 1)};
  p.stages[0].micro_batch = 2;
  p.stages[0].in_flight = 8;
  const cost::Problem problem{g, cluster, costs, p.training};
  const auto activations = [&] {
    return at(score::stage_memories(problem, p)[0], plan::MemoryKind::activations);
  };
  CHECK(activations() == core::Bytes(2 * 1000 * 8));
  p.stages[0].recompute = plan::kRecomputeStage;
  CHECK(activations() == core::Bytes(2 * 1000 * 2));
  // PipeDream on two ranks: the first keeps one older version of its 4 kB, the last none.
  plan::Plan stashing;
  stashing.training.mini_batch = 8;
  stashing.schedule = "pipedream";
  stashing.stages = {support::stage(0, 0, 1, 1), support::stage(1, 1, 1, 1)};
  stashing.stages[1].devices = {DeviceId(1)};
  for (auto& stage : stashing.stages) stage.micro_batch = 1, stage.in_flight = 0;
  stashing.stages[0].in_flight = 2, stashing.stages[1].in_flight = 1;
  const auto memories = score::stage_memories(problem, stashing);
  CHECK(at(memories[0], plan::MemoryKind::versions) == core::Bytes(4000));
  CHECK(at(memories[1], plan::MemoryKind::versions) == core::Bytes(0));
}

TEST_CASE("stages that take turns keep statistics of batch norms once for each micro-batch") {
  // Two norms of 1000 channels on one device: 8 kB of means and variances each. In the order 0F0 1F0 1I0 1W0
  // 0F1 0I0 0W0 1F1 ... the device holds two of four micro-batches of a stage at most.
  const auto needed = [](graph::NormForm form, std::int64_t micro_batch) {
    graph::GraphBuilder builder("norms");
    for (const char* name : {"a", "b"}) {
      graph::Operator op = support::unit_op(name, 1e9, 2000);
      op.kind = graph::OpKind::norm;
      op.attributes = graph::Norm{250, 1000, form};
      builder.add(op);
    }
    builder.add_edge(OpId(0), OpId(1));
    const auto g = builder.build();
    const auto cluster = support::tiny_cluster(1);
    const auto costs = support::FixedCosts::uniform(2, 1e-3, 2e-3);
    plan::Plan p;
    p.schedule = "zbv";
    p.training.mini_batch = 2 * micro_batch;
    p.stages = {support::stage(0, 0, 1, 1), support::stage(1, 1, 1, 1)};
    for (auto& stage : p.stages) stage.micro_batch = micro_batch, stage.in_flight = 0;
    const cost::Problem problem{g, cluster, costs, p.training};
    score::derive_in_flight(problem, p);
    return score::rank_memories(problem, p)[0].needed.value();
  };
  for (const std::int64_t micro_batch : {1, 3})
    CHECK(needed(graph::NormForm::batch, micro_batch) - needed(graph::NormForm::layer, micro_batch) ==
          2 * 8000);
}
