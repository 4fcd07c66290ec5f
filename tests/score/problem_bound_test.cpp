#include "penstock/score/problem_bound.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/communication.hpp"
#include "score/least_all_reduce.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using score::PlanFamily;
using score::ProblemBoundKind;

namespace {

double seconds(const cost::Problem& problem, ProblemBoundKind kind,
               PlanFamily family = PlanFamily::replicated) {
  const auto bounds = score::problem_bounds(problem, score::Reduction::closed_form, family);
  return bounds.by_kind[static_cast<std::size_t>(kind)].time.value();
}

/// Analytic costs, which do not promise that equal operators take equal times: nothing is computed for several.
class UnsharedCosts final : public cost::CostModel {
 public:
  cost::OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                       std::int64_t samples) const override {
    return costs_.op_time(graph, op, device, samples);
  }
  cost::OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                         std::int64_t samples, const cost::OpShard& part) const override {
    return costs_.part_time(graph, op, device, samples, part);
  }
  core::Seconds core_forward(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                             std::int64_t samples, const cost::OpShard& part) const override {
    return costs_.core_forward(graph, op, device, samples, part);
  }

 private:
  cost::AnalyticCosts costs_;
};

/// One operator of a million weights, 4 MB, and passes of 2 s per sample; cables of 1 MB/s and 0.5 s, memory
/// of 2 MB/s.
struct Lone {
  explicit Lone(std::int64_t memory = std::int64_t{1} << 40, std::int64_t parameters = 1000000)
      : cluster(slow_memory(support::tiny_cluster(2, memory, 1e6, 0.5))) {
    graph::GraphBuilder builder("one");
    builder.add(support::unit_op("a", 1e9, parameters));
    graph = builder.build();
  }
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::LaunchCosts costs{{{0, 2}}};
  static cluster::Cluster slow_memory(const cluster::Cluster& plain) {
    cluster::DeviceType type = plain.types().front();
    type.memory_bandwidth = core::Bandwidth(2e6);
    return cluster::Cluster("lone", {type}, plain.devices(), 1, plain.links());
  }
  cost::Problem problem() const { return {graph, cluster, costs, {8}}; }
  double update(std::int64_t bytes) const {
    return costs
        .step_time(core::Bytes(bytes), plan::Training{.optimizer = plan::Optimizer::sgd},
                   cluster.types().front())
        .value();
  }
};

/// a -> b -> c, each pass of n samples takes 1 s + n * 2 s.
struct Chain {
  explicit Chain(std::size_t devices, std::int64_t memory = std::int64_t{1} << 40,
                 std::int64_t parameters = 0)
      : cluster(support::tiny_cluster(devices, memory)) {
    graph::GraphBuilder builder("chain");
    for (const char* name : {"a", "b", "c"}) builder.add(support::unit_op(name, 1e9, parameters));
    builder.add_edge(core::OpId(0), core::OpId(1));
    builder.add_edge(core::OpId(1), core::OpId(2));
    graph = builder.build();
  }
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::LaunchCosts costs{{{1, 2}, {1, 2}, {1, 2}}};
  cost::Problem problem(std::int64_t mini_batch = 8) const { return {graph, cluster, costs, {mini_batch}}; }
};

/// The bound is lowered by a thousand-millionth.
support::Near about(double value) {
  return support::near(value, 1e-8);
}

}  // namespace

TEST_CASE("residency: what a first operator keeps waits for as long as the share of the second takes") {
  // a -> b, passes of 4 s + 1 s a sample, 8 samples on one device. a keeps 1,000 B of a sample; memory holds
  // two.
  graph::GraphBuilder builder("two");
  builder.add(support::unit_op("a"));
  graph::Operator last = support::unit_op("b");
  last.output_bytes = last.saved_bytes = core::Bytes(0);
  builder.add(last);
  builder.add_edge(core::OpId(0), core::OpId(1));
  const auto graph = builder.build();
  const auto cluster = support::tiny_cluster(1, 2000);
  const support::LaunchCosts costs{{{4, 1}, {4, 1}}};
  cost::Problem problem{graph, cluster, costs, {8}};
  problem.memory.transient = false;
  // a in shares of 2 takes 72 s, b in shares of 4 or 8 48 or 36 s. a's bytes stay for b's 16 or 24 s and 5 s
  // of its own: 84 or 116 s where memory holds two. Or a's forward passes run again, 24 s. The best mean
  // counts bytes 24 parts of 140: 108 s of work and 116 s of bytes, or 132 s of work and none.
  CHECK(seconds(problem, ProblemBoundKind::residency) == support::near(108 + 8 * 24 / 140.0, 1e-2));
}

TEST_CASE("residency: every sample has a share of its own, also where a micro-batch leaves a rest") {
  // With a micro-batch of 3 on two replicas, one has two samples together. No sample is then both passed on
  // as soon as a single one and as cheap as two together. Counted so, the bound is 1.1 % above the
  // relaxation.
  const auto graph = models::build("gpt", {{"layers", "24"}, {"hidden", "2048"}, {"heads", "16"}});
  const auto cluster =
      cluster::load_cluster(support::checkout("/experiments/tight/summit_tight.yaml")).first(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::adam}};
  const auto family = PlanFamily::tensor_parallel;
  CHECK(seconds(problem, ProblemBoundKind::residency, family) >
        1.0125 * seconds(problem, ProblemBoundKind::relaxation, family));
}

TEST_CASE("relaxation: an operator is divided in one way, whose passes are not all the shortest") {
  // Two devices: by columns the forward pass is halved, by rows the input gradient; one sample.
  struct OneSided final : cost::CostModel {
    cost::OpTime op_time(const graph::OpGraph&, core::OpId, const cluster::DeviceType&,
                         std::int64_t) const override {
      return {core::Seconds(1), core::Seconds(1), core::Seconds(1)};
    }
    cost::OpTime part_time(const graph::OpGraph&, core::OpId, const cluster::DeviceType&, std::int64_t,
                           const cost::OpShard& shard) const override {
      const bool column = shard.partition == plan::Partition::column,
                 row = shard.partition == plan::Partition::row;
      return {core::Seconds(column ? shard.part : 1), core::Seconds(row ? shard.part : 1), core::Seconds(1)};
    }
  };
  const Lone lone(std::int64_t{1} << 40, 0);
  const OneSided costs;
  const cost::Problem problem{lone.graph, lone.cluster, costs, {1}};
  CHECK(seconds(problem, ProblemBoundKind::chain, PlanFamily::tensor_parallel) == about(0.5 + 0.5 + 1));
  CHECK(seconds(problem, ProblemBoundKind::relaxation, PlanFamily::tensor_parallel) ==
        support::near(0.5 + 1 + 1, 1e-6));
}

TEST_CASE("work: three operators of three passes, 8 samples at once 17 s, over two devices") {
  CHECK(seconds(Chain(2).problem(), ProblemBoundKind::work) == about(3 * 3 * 17 / 2.0));
}

TEST_CASE("chain: one sample down in 3 forwards of 3 s, up in 3 input gradients, then a's weight gradient") {
  CHECK(seconds(Chain(4).problem(), ProblemBoundKind::chain) == about(3 * 3 + 3 * 3 + 3));
}

TEST_CASE(
    "operators: b waits for a, does 8 samples in three passes on up to 4 devices, then a's gradients "
    "follow") {
  // On four devices: rates are those of 8 samples at once, 17 s / 8; two samples' worth of three passes.
  CHECK(seconds(Chain(4).problem(), ProblemBoundKind::operators) ==
        about(3 + 3 + std::max(2 * 3 * 17 / 8.0, 2 * 2 * 17 / 8.0 + 3 + 3 + 3)));
}

TEST_CASE("relaxation is no lower than work and chain") {
  for (std::int64_t mini_batch : {1, 4, 64}) {
    const Chain chain(3);
    const auto bounds = score::problem_bounds(chain.problem(mini_batch));
    const double relaxed = seconds(chain.problem(mini_batch), ProblemBoundKind::relaxation);
    CHECK(relaxed >= seconds(chain.problem(mini_batch), ProblemBoundKind::work) * (1 - 1e-6));
    CHECK(relaxed >= seconds(chain.problem(mini_batch), ProblemBoundKind::chain) * (1 - 1e-6));
    CHECK(bounds.best().time.value() >= relaxed);
  }
}

TEST_CASE("relaxation: no device goes back before a sample has come down") {
  // Two samples on two devices, one each: 27 s of all passes, 9 down and 18 back. Both at once on one device
  // take 15 s a pass: work would be 22.5 s, and with only the chain beside it the bound 25.4. But 15 s down
  // and 15 of backward work are 30.
  CHECK(seconds(Chain(2).problem(2), ProblemBoundKind::relaxation) == support::near(27, 1e-6));
}

TEST_CASE(
    "replication: three operators on three devices need none, on four devices two of one stage reduce") {
  CHECK(seconds(Chain(3).problem(), ProblemBoundKind::replication) == 0);
  CHECK(seconds(Chain(4).problem(), ProblemBoundKind::replication) > 0);
}

TEST_CASE("replication of a lone operator is data parallelism: its share, its all-reduce, its update") {
  const Lone lone;
  const cost::Problem problem = lone.problem();
  const double update = lone.update(4000000);
  // Half of 8 samples in three passes of 2 s; a ring of two moves 4 MB at 1 MB/s in 2 steps of 1 s latency.
  CHECK(seconds(problem, ProblemBoundKind::replication) == about(4 * 3 * 2 + 4 + 2 * 1 + update));
  CHECK(score::problem_bounds(problem, score::Reduction::free).best().time.value() ==
        about(4 * 3 * 2 + update));
}

TEST_CASE("compressed gradients: a quarter of 4 MB is reduced, and all are updated") {
  const Lone lone;
  cost::Problem problem = lone.problem();
  problem.training.compression.gradients = 0.25;
  CHECK(seconds(problem, ProblemBoundKind::replication) ==
        about(4 * 3 * 2 + 1 + 2 * 1 + lone.update(4000000)));
}

TEST_CASE("ZeRO: what is sent may hide, and each of two replicas updates one half") {
  const Lone lone;
  CHECK(seconds(lone.problem(), ProblemBoundKind::replication, PlanFamily::zero) ==
        about(4 * 3 * 2 + lone.update(2000000)));
}

TEST_CASE("tensor parallelism: the way of a sample is through parts, the work is what it was") {
  // Each of four devices has a quarter of a launch of 1 s and of 2 s for the sample.
  CHECK(seconds(Chain(4).problem(), ProblemBoundKind::chain, PlanFamily::tensor_parallel) ==
        about((3 * 3 + 3 * 3 + 3) / 4.0));
  CHECK(seconds(Chain(4).problem(), ProblemBoundKind::work, PlanFamily::tensor_parallel) ==
        about(3 * 3 * 17 / 4.0));
  // c on a group of four: behind parts of a and b a quarter of 8 samples in three passes of 17 s.
  CHECK(seconds(Chain(4).problem(), ProblemBoundKind::operators, PlanFamily::tensor_parallel) ==
        about((3 + 3) / 4.0 + 3 * 17 / 4.0));
  // Four devices for three operators may be one group, without replicas.
  CHECK(seconds(Chain(4).problem(), ProblemBoundKind::replication, PlanFamily::tensor_parallel) == 0);
}

TEST_CASE("tensor parallelism on many devices: parts are a D-th, the work is what it was") {
  const Chain chain(129);
  const auto least = [&](ProblemBoundKind kind) {
    return seconds(chain.problem(), kind, PlanFamily::tensor_parallel);
  };
  CHECK(least(ProblemBoundKind::chain) == about((3 * 3 + 3 * 3 + 3) / 129.0));
  CHECK(least(ProblemBoundKind::work) == about(3 * 3 * 17 / 129.0));
  CHECK(least(ProblemBoundKind::relaxation) == support::near(3 * 3 * 17 / 129.0, 1e-6));
}

TEST_CASE("a launch does not shrink with a part: the chain keeps its launches on many devices") {
  const cost::AnalyticCosts costs;
  cluster::DeviceType type = support::tiny_cluster(1).types().front();
  type.launch_overhead = core::Seconds(1);
  const auto plain = support::tiny_cluster(8);
  const cluster::Cluster cluster("launches", {type}, plain.devices(), 1, plain.links());
  const Chain chain(1);
  const cost::Problem problem{chain.graph, cluster, costs, {8}};
  // Three forwards and three input gradients of 1 s each, and parts of some ms.
  const double least = seconds(problem, ProblemBoundKind::chain, PlanFamily::tensor_parallel);
  CHECK(least > 6);
  CHECK(least < seconds(problem, ProblemBoundKind::chain));
}

TEST_CASE("memory limits shares: with room for two samples the rate is that of two at once") {
  // A sample of b or c takes 1000 B kept and 2000 B of workspace, input and output; one of a 2000 B in all.
  // So b and c have room for two at once, 5 s a pass, and a for three, which no share of 8 samples is. All in
  // 4 times two.
  CHECK(seconds(Chain(1, 6000).problem(), ProblemBoundKind::work) == about(3 * 3 * 4 * 5));
  CHECK_THROWS_AS(score::problem_bounds(Chain(1, 2999).problem()), core::Infeasible);
  CHECK_NOTHROW(score::problem_bounds(Chain(1, 3000).problem()));
}

TEST_CASE(
    "memory limits groups: two samples at once take two devices, which together do no more than alone") {
  // Launches of 1 s, parts of some ms. 4500 B hold one sample of b or c; a group of two has room for two.
  const cost::AnalyticCosts costs;
  const auto plain = support::tiny_cluster(2, 4500);
  cluster::DeviceType type = plain.types().front();
  type.launch_overhead = core::Seconds(1);
  const cluster::Cluster cluster("launches", {type}, plain.devices(), 1, plain.links());
  const Chain chain(1);
  const cost::Problem problem{chain.graph, cluster, costs, {8}};
  const auto least = [&](ProblemBoundKind kind) {
    return seconds(problem, kind, PlanFamily::tensor_parallel);
  };
  // Passes of b and c: 8 micro-batches of one sample on one of the devices, or 4 of two on both. Passes of a,
  // of which a device has room for two samples: 4 micro-batches on one, or 2 of four on both.
  const double b = 3 * 8 / 2.0, a = 3 * 4 / 2.0;
  CHECK(least(ProblemBoundKind::relaxation) == support::near(a + 2 * b, 0.01));
}

TEST_CASE("relaxation: every branch has a way of its own, not only the longest") {
  // Four operators beside each other on 8 devices, 8 samples; a pass of n is 1 s + n * 2 s. Their work is 4 *
  // 3 * (2 + 1 / n) s, each way down and up 2 * (1 + 2 n). These are 27 and 18 s at n = 4, 25.5 and 34 s at n
  // = 8. Work and way are equal 9 / 17.5 between the two. Were only one branch held to its way, 25.94 s.
  const Chain chain(8);
  graph::GraphBuilder builder("branches");
  for (const char* name : {"a", "b", "c", "d"}) builder.add(support::unit_op(name, 1e9, 0));
  const graph::OpGraph graph = builder.build();
  const support::LaunchCosts costs{{{1, 2}, {1, 2}, {1, 2}, {1, 2}}};
  CHECK(seconds({graph, chain.cluster, costs, {8}}, ProblemBoundKind::relaxation) ==
        support::near(27 - 1.5 * 9 / 17.5, 1e-6));
}

TEST_CASE("weights that do not fit on all devices together are infeasible") {
  // 3 operators of 1000 numbers: 12 kB of weights, 12 kB of gradients; each operator by itself needs 12 kB +
  // 3 kB.
  CHECK_THROWS_AS(score::problem_bounds(Chain(1, 23999, 1000).problem()), core::Infeasible);
  CHECK_NOTHROW(score::problem_bounds(Chain(1, 24001, 1000).problem()));
}

TEST_CASE("a model that fits only divided is infeasible for families that do not divide it") {
  // 4 kB of weights, as much of gradients; a sample takes 1 kB kept and 1 kB of workspace, and a gradient is
  // made apart. Two devices: ZeRO halves all that is weights, tensor parallelism everything.
  const auto bounds = [](std::int64_t memory, PlanFamily family) {
    return score::problem_bounds(Lone(memory, 1000).problem(), score::Reduction::closed_form, family);
  };
  CHECK_THROWS_AS(bounds(13999, PlanFamily::replicated), core::Infeasible);
  CHECK_NOTHROW(bounds(14000, PlanFamily::replicated));
  CHECK_THROWS_AS(bounds(7999, PlanFamily::zero), core::Infeasible);
  CHECK_NOTHROW(bounds(8000, PlanFamily::zero));
  CHECK_THROWS_AS(bounds(6999, PlanFamily::tensor_parallel), core::Infeasible);
  CHECK_NOTHROW(bounds(7000, PlanFamily::tensor_parallel));
}

TEST_CASE("a plan is held to the bounds of its family") {
  const Chain chain(4);
  plan::Plan plan;
  plan.stages.resize(2);
  CHECK(score::family_of(plan) == PlanFamily::replicated);
  plan.stages[1].zero = 1;
  CHECK(score::family_of(plan) == PlanFamily::zero);
  plan.stages[0].tensor_parallel = 2;
  CHECK(score::family_of(plan) == PlanFamily::tensor_parallel);
  CHECK_THROWS_AS(score::problem_bounds(chain.problem()).holds_for(plan), core::Error);
  const auto divided =
      score::problem_bounds(chain.problem(), score::Reduction::closed_form, PlanFamily::tensor_parallel);
  CHECK(score::bound_for(chain.problem(), plan).time == divided.best().time);
}

TEST_CASE("a plan without flushes is bounded only by the work") {
  const Chain chain(4);
  const auto bounds = score::problem_bounds(chain.problem(1));
  plan::Plan plan;
  plan.schedule = "pipedream";
  CHECK(bounds.best().kind != ProblemBoundKind::work);
  CHECK(bounds.holds_for(plan).kind == ProblemBoundKind::work);
  plan.schedule = "1f1b";
  CHECK(bounds.holds_for(plan).time == bounds.best().time);
}

TEST_CASE("a mini-batch without samples is bad input") {
  CHECK_THROWS_AS(score::problem_bounds(Chain(1).problem(0)), core::BadInput);
}

TEST_CASE("the least all-reduce of so many devices is above that of none") {
  const auto cluster =
      cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(16);
  const auto measured = cluster.measured_by(std::make_shared<cluster::CollectiveTimes>(
      std::vector<cluster::CollectiveTime>{{cluster::CollectiveKind::all_reduce, 2, 1000, 1e-9},
                                           {cluster::CollectiveKind::all_reduce, 6, 1, 1}}));
  for (const auto* known : {&cluster, &measured}) {
    const score::LeastAllReduce least(*known);
    for (const core::Bytes bytes : {core::Bytes(1000), core::Bytes(1000000000)})
      for (std::size_t r = 2; r <= cluster.size(); ++r) {
        std::vector<core::DeviceId> devices;
        for (std::size_t d = 0; d < r; ++d) devices.emplace_back(d);
        CAPTURE(r);
        CHECK(least.seconds(r, bytes) <= cost::all_reduce(*known, devices).time(bytes).value() * (1 + 1e-12));
      }
  }
}

TEST_CASE("a check is called all along, and what it throws ends the work") {
  const Chain chain(3);
  for (const auto family : {PlanFamily::replicated, PlanFamily::zero, PlanFamily::tensor_parallel}) {
    const auto bounds = [&](const score::BoundCheck& check) {
      return score::problem_bounds(chain.problem(), score::Reduction::closed_form, family, check).best().time;
    };
    std::atomic<int> calls = 0;
    CHECK(bounds([&] { ++calls; }) == bounds({}));
    const int all = calls;
    CHECK(all > 30);
    for (const int last : {1, all / 2, all}) {  // for any caller, and until the end
      calls = 0;
      CHECK_THROWS_AS(bounds([&] {
                        if (++calls >= last) throw core::SearchEnded();
                      }),
                      core::SearchEnded);
    }
  }
}

TEST_CASE("memory: a core's bytes stay from its input gradient on, since it may be computed again") {
  // Attention of two heads and 10 x 10 pairs: 200 numbers of its core, 400 B in half precision, of 1000 B that
  // it keeps. Each pass of a sample takes 2 s on each of two devices of 10 kB.
  graph::GraphBuilder builder("attention", 2);
  graph::Operator op = support::unit_op("a", 1e9);
  op.kind = graph::OpKind::attention;
  op.attributes = graph::Attention{.queries = 10, .keys = 10, .hidden = 8, .heads = 2};
  builder.add(op);
  const auto g = builder.build();
  const auto cluster = support::tiny_cluster(2, 10000);
  const support::LaunchCosts costs{{{0, 2}}};
  const cost::Problem problem{g, cluster, costs, {8}};
  CHECK(seconds(problem, ProblemBoundKind::memory) == about(8.0 * (600 * (2 + 2) + 400 * 2) / 20000));
}

TEST_CASE("frozen weights are divided as others are where ZeRO or tensor parallelism may divide them") {
  // 4 MB that do not train. Each of two devices has 3 MB: room for half of them.
  graph::GraphBuilder builder("frozen");
  graph::Operator op = support::unit_op("a", 1e9);
  op.frozen_parameters = 1000000;
  op.weight_gradient_flops = core::Flops(0);
  builder.add(op);
  const auto g = builder.build();
  const support::LaunchCosts costs{{{0, 2}}};
  const auto bounded = [&](std::int64_t memory, PlanFamily family) {
    const auto cluster = support::tiny_cluster(2, memory);
    return score::problem_bounds({g, cluster, costs, {8}}, score::Reduction::closed_form, family);
  };
  CHECK_THROWS_AS(bounded(3000000, PlanFamily::replicated), core::Infeasible);
  for (const PlanFamily family : {PlanFamily::zero, PlanFamily::tensor_parallel}) {
    CHECK_NOTHROW(bounded(3000000, family));
    CHECK_THROWS_AS(bounded(1900000, family), core::Infeasible);
  }
}

TEST_CASE("equal operators share their times: bounds are equal to the last bit to those without") {
  const cost::AnalyticCosts shared;
  const UnsharedCosts unshared;
  using Sizes = std::map<std::string, std::string>;
  const Sizes small{
      {"layers", "3"}, {"hidden", "256"}, {"heads", "4"}, {"kv_heads", "2"}, {"sequence", "96"}};
  Sizes mixture = small;
  mixture["experts"] = "6", mixture["expert_width"] = "128";
  const std::pair<const char*, Sizes> models[] = {
      {"llama", small}, {"mixtral", mixture}, {"gpt", {{"layers", "2"}, {"sequence", "64"}}}, {"mmt", {}}};
  for (const auto& [model, sizes] : models)
    for (const char* where : {"6xA100-40", "2xV100-32x2"}) {
      CAPTURE(model);
      CAPTURE(where);
      const auto graph = models::build(model, sizes);
      const auto cluster = cluster::load_cluster(where);
      for (const PlanFamily family :
           {PlanFamily::replicated, PlanFamily::zero, PlanFamily::tensor_parallel}) {
        const auto bounds = [&](const cost::CostModel& costs) {
          const cost::Problem problem{graph, cluster, costs, {12}};
          return score::problem_bounds(problem, score::Reduction::closed_form, family).by_kind;
        };
        const auto a = bounds(shared), b = bounds(unshared);
        for (std::size_t k = 0; k < a.size(); ++k) CHECK(a[k].time == b[k].time);
      }
    }
}
