#include "penstock/score/problem_bound.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/cost/communication.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using score::ProblemBoundKind;

namespace {

double seconds(const cost::Problem& problem, ProblemBoundKind kind) {
  return score::problem_bounds(problem).by_kind[static_cast<std::size_t>(kind)].time.value();
}

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
doctest::Approx about(double value) {
  return doctest::Approx(value).epsilon(1e-8);
}

}  // namespace

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

TEST_CASE(
    "replication: three operators on three devices need none, on four devices two of one stage reduce") {
  CHECK(seconds(Chain(3).problem(), ProblemBoundKind::replication) == 0);
  CHECK(seconds(Chain(4).problem(), ProblemBoundKind::replication) > 0);
}

TEST_CASE("replication of a lone operator is data parallelism: its share, its all-reduce, its update") {
  const auto graph = [] {
    graph::GraphBuilder builder("one");
    builder.add(support::unit_op("a", 1e9, 1000000));
    return builder.build();
  }();
  const auto cluster = support::tiny_cluster(2, std::int64_t{1} << 40, 1e6, 0.5);
  const support::LaunchCosts costs({{0, 2}});
  const cost::Problem problem{graph, cluster, costs, {8}};
  const double update =
      costs.step_time(core::Bytes(4000000), plan::Optimizer::sgd, cluster.types().front()).value();
  // Half of 8 samples in three passes of 2 s; a ring of two moves 4 MB at 1 MB/s in 2 steps of 1 s latency.
  CHECK(seconds(problem, ProblemBoundKind::replication) == about(4 * 3 * 2 + 4 + 2 * 1 + update));
  CHECK(score::problem_bounds(problem, score::Reduction::free).best().time.value() ==
        about(4 * 3 * 2 + update));
}

TEST_CASE("memory limits shares: with room for two samples the rate is that of two at once") {
  // A sample of b or c takes 1000 B kept and 2000 B of workspace, input and output; one of a 2000 B in all.
  // So b and c have room for two at once, 5 s a pass, and a for three, which no share of 8 samples is; all in
  // 4 times two.
  CHECK(seconds(Chain(1, 6000).problem(), ProblemBoundKind::work) == about(3 * 3 * 4 * 5));
  CHECK_THROWS_AS(score::problem_bounds(Chain(1, 2999).problem()), core::Infeasible);
  CHECK_NOTHROW(score::problem_bounds(Chain(1, 3000).problem()));
}

TEST_CASE("weights that do not fit on all devices together are infeasible") {
  // 3 operators of 1000 numbers: 12 kB of weights, 12 kB of gradients; each operator alone needs 8 kB + 3 kB.
  CHECK_THROWS_AS(score::problem_bounds(Chain(2, 11999, 1000).problem()), core::Infeasible);
  CHECK_NOTHROW(score::problem_bounds(Chain(2, 12001, 1000).problem()));
}

TEST_CASE("a plan without flushes is held to the work alone") {
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
