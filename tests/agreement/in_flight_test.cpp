// The in-flight rule against every in-flight vector, by simulation without transfer times.

#include "penstock/schedule/in_flight.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "penstock/schedule/in_flight_search.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/in_flight_oracle.hpp"
#include "support/near.hpp"
#include "support/random_graph.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using support::Held;
using support::OraclePipeline;

namespace {

using Edges = std::vector<std::pair<int, int>>;

/// How the rule fared over many pipelines.
struct RuleCount {
  int cases = 0;
  int exact = 0;       ///< the rule gives the least of all vectors that reach the shortest iteration
  int sufficient = 0;  ///< the rule reaches the shortest iteration
  int least = 0;       ///< a least vector exists
  int unlimited = 0;   ///< the whole mini-batch in flight reaches the shortest iteration
  int behind = 0;      ///< the rule is slower than the whole mini-batch in flight
  double worst = 0;    ///< largest share of time above the shortest

  void add(const support::InFlightTruth& truth) {
    ++cases;
    exact += truth.exact();
    sufficient += truth.sufficient();
    least += truth.floor_holds;
    unlimited += truth.unlimited == truth.shortest;
    behind += truth.ruled > truth.unlimited;
    worst = std::max(worst, static_cast<double>(truth.ruled) / static_cast<double>(truth.shortest) - 1);
  }
  std::string text() const {
    return fmt::format(
        "{} cases: rule exact {}, sufficient {}, at worst {:.1f} % slow; a least vector exists {}; "
        "all in flight is fastest {}, faster than the rule {}",
        cases, exact, sufficient, 100 * worst, least, unlimited, behind);
  }
};

Edges chain(int stages) {
  Edges edges;
  for (int s = 0; s + 1 < stages; ++s) edges.emplace_back(s, s + 1);
  return edges;
}

/// Chains with every choice of micro-batches from {1, 2, 4}, one second per sample, backward as long and
/// twice.
void for_each_chain(int stages, std::int64_t mini_batch,
                    const std::function<void(const OraclePipeline&)>& visit) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(stages), 1);
  const auto next = [&] {
    for (std::int64_t& size : sizes) {
      if (size < 4) return size *= 2, true;
      size = 1;
    }
    return false;
  };
  do {
    const std::vector<double> even(sizes.size(), 1);
    for (double backward : {1.0, 2.0})
      visit(support::pipeline(chain(stages), sizes, even, backward, mini_batch));
  } while (next());
}

RuleCount all_chains(int stages, std::int64_t mini_batch) {
  RuleCount count;
  for_each_chain(stages, mini_batch,
                 [&](const OraclePipeline& p) { count.add(support::in_flight_truth(p)); });
  return count;
}

struct PipelineKind {
  bool chain = false;          ///< else a random DAG
  bool equal_batches = false;  ///< micro-batches of 1, else of 1, 2 and 4
  bool equal_times = false;    ///< one second per sample, else 1 to 5
};

OraclePipeline random_pipeline(core::Random& random, const PipelineKind& kind, int most_stages,
                               std::int64_t mini_batch) {
  const int stages = random.between(2, most_stages);
  std::vector<std::int64_t> sizes;
  std::vector<double> seconds;
  for (int s = 0; s < stages; ++s) {
    sizes.push_back(kind.equal_batches ? 1 : std::int64_t{1} << random.between(0, 2));
    seconds.push_back(kind.equal_times ? 1 : random.between(1, 5));
  }
  Edges edges = chain(stages);
  if (!kind.chain) edges.clear();
  if (!kind.chain)
    for (const auto& [from, to] : test::random_dag(random, stages, 0.5).edges()) edges.emplace_back(from, to);
  return support::pipeline(edges, sizes, seconds, random.between(1, 2), mini_batch);
}

RuleCount random_pipelines(const PipelineKind& kind, int cases) {
  core::Random random(7);
  RuleCount count;
  for (int i = 0; i < cases; ++i) count.add(support::in_flight_truth(random_pipeline(random, kind, 4, 8)));
  return count;
}

/// The rule reaches the time of everything in flight, and one micro-batch fewer in any stage costs time.
void check_tight(const OraclePipeline& p) {
  const Held rule = support::held_by_rule(p);
  const std::int64_t time = support::iteration(p, rule);
  CHECK(time == support::iteration(p, Held(rule.size(), p.plan.training.mini_batch)));
  for (std::size_t s = 0; s < rule.size(); ++s) {
    Held fewer = rule;
    fewer[s] -= p.plan.stages[s].micro_batch;
    CAPTURE(s);
    if (fewer[s] > 0) CHECK(support::iteration(p, fewer) > time);
  }
}

/// In-flight samples by trial, from the whole mini-batch or from the plan's own counts.
Held searched(OraclePipeline p) {
  const auto cluster = support::tiny_cluster(p.seconds.size(), std::int64_t{1} << 40, 1e18);
  const support::FixedCosts costs(p.seconds, std::vector<double>(p.seconds.size(), p.backward));
  const cost::Problem problem{p.graph, cluster, costs, p.plan.training};
  schedule::search_in_flight(p.plan, [&](const plan::Plan& tried) {
    return sim::simulate_time(problem, {problem.graph, tried}, {sim::NetworkModel::fifo});
  });
  Held held;
  for (const auto& stage : p.plan.stages) held.push_back(stage.in_flight);
  return held;
}

/// Fig. 5's chain of micro-batches 1, 2, 4 with these k.
OraclePipeline figure_5(const std::vector<int>& k, double backward) {
  auto p = support::pipeline(chain(3), {1, 2, 4}, {1, 1, 1}, backward, 32);
  for (std::size_t s = 0; s < k.size(); ++s) p.plan.stages[s].k = k[s];
  return p;
}

}  // namespace

TEST_CASE("even chains of two and three stages: the rule is the least of all in-flight vectors") {
  for (const auto& [stages, mini_batch] : {std::pair(2, 16), std::pair(3, 8)}) {
    const RuleCount count = all_chains(stages, mini_batch);
    CHECK(count.exact == count.cases);
  }
}

TEST_CASE("even chains of up to five stages: one micro-batch fewer costs time, in a mini-batch of 64") {
  for (int stages : {2, 3, 4, 5}) for_each_chain(stages, 64, check_tight);
}

TEST_CASE("even DAGs: one micro-batch fewer costs time") {
  core::Random random(1);
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    check_tight(random_pipeline(random, {.equal_batches = i % 2 == 0, .equal_times = true}, 6, 64));
  }
}

TEST_CASE("kFkB by trial: GraphPipe Fig. 5 holds 10 with k = 1 1 1 and 2 2 1, but 12 with 4 2 1") {
  for (double backward : {1.0, 2.0}) {
    CHECK(searched(figure_5({1, 1, 1}, backward)) == Held{10, 8, 4});
    CHECK(searched(figure_5({2, 2, 1}, backward)) == Held{10, 8, 4});
    CHECK(searched(figure_5({4, 2, 1}, backward)) == Held{12, 8, 4});
  }
}

TEST_CASE("kFkB on even chains: the rule suffices, and trial from it holds less") {
  core::Random random(3);
  std::int64_t by_rule = 0, by_trial = 0;
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    auto p = random_pipeline(random, {.chain = true, .equal_times = true}, 4, 64);
    for (auto& stage : p.plan.stages) stage.k = 1 << random.between(0, 2);
    const Held rule = support::held_by_rule(p);
    CHECK(support::iteration(p, rule) == support::iteration(p, Held(rule.size(), 64)));
    for (std::size_t s = 0; s < rule.size(); ++s) p.plan.stages[s].in_flight = rule[s];
    const Held trial = searched(p);
    CHECK(support::iteration(p, trial) == support::iteration(p, rule));
    by_rule += std::accumulate(rule.begin(), rule.end(), std::int64_t{0});
    by_trial += std::accumulate(trial.begin(), trial.end(), std::int64_t{0});
  }
  MESSAGE("kFkB, even chains: in flight by rule ", by_rule, " samples in sum, by trial ", by_trial);
  CHECK(by_trial < by_rule);
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("three even stages, 16 and 32 samples: exact in 54 of 54") {
  for (const std::int64_t mini_batch : {16, 32}) {
    const RuleCount count = all_chains(3, mini_batch);
    CHECK(count.cases == 54);
    CHECK(count.exact == 54);
  }
}

TEST_CASE("four even stages, 16 samples: sufficient, and exact but where the mini-batch ends too soon") {
  // Four micro-batches of 4 samples hardly fill four stages: in 14 cases the first stage can hold less.
  const RuleCount count = all_chains(4, 16);
  MESSAGE("four even stages, ", count.text());
  CHECK(count.sufficient == count.cases);
  CHECK(count.exact == 148);
}

TEST_CASE("even DAGs: sufficient always, exact with equal micro-batches") {
  const RuleCount equal = random_pipelines({.equal_batches = true, .equal_times = true}, 60);
  const RuleCount mixed = random_pipelines({.equal_times = true}, 60);
  MESSAGE("even DAGs, equal micro-batches, ", equal.text());
  MESSAGE("even DAGs, ", mixed.text());
  CHECK(equal.exact == equal.cases);
  CHECK(mixed.sufficient == mixed.cases);
}

TEST_CASE("uneven stages: the rule need not reach the shortest iteration") {
  for (bool chain : {true, false})
    for (bool equal : {true, false}) {
      const RuleCount count = random_pipelines({.chain = chain, .equal_batches = equal}, 100);
      MESSAGE(fmt::format("uneven {}, {} micro-batches, {}", chain ? "chains" : "DAGs",
                          equal ? "equal" : "mixed", count.text()));
      CHECK(count.least == count.cases);
      CHECK(count.behind == 0);
      CHECK(count.worst < 0.25);
    }
}

TEST_SUITE_END();

TEST_CASE("transfers as long as a forward pass: the depth's count waits, the other rule is what hides them") {
  constexpr std::int64_t kMiniBatch = 16;
  for (const int stages : {2, 3, 4, 5}) {
    CAPTURE(stages);
    const auto p = support::pipeline(chain(stages), std::vector<std::int64_t>(stages, 1),
                                     std::vector<double>(stages, 1), 2, kMiniBatch);
    const double second = static_cast<double>(p.graph.op(core::OpId(0)).output_bytes.value());
    const auto cluster = support::tiny_cluster(stages, std::int64_t{1} << 40, second);
    const auto costs = support::FixedCosts::uniform(stages, 1, 2);
    const cost::Problem problem{p.graph, cluster, costs, p.plan.training};
    const auto iteration = [&](schedule::InFlight rule, std::int64_t more) {
      plan::Plan plan = p.plan;
      schedule::derive_in_flight(plan, plan::StageGraph(p.graph, plan), rule);
      for (auto& stage : plan.stages)
        stage.in_flight = std::clamp<std::int64_t>(stage.in_flight + more, 1, kMiniBatch);
      return core::to_seconds(sim::simulate_time(problem, {problem.graph, plan}, {sim::NetworkModel::fifo}))
          .value();
    };
    constexpr auto kDepth = schedule::InFlight::depth, kHide = schedule::InFlight::hide_transfers;
    const double hidden = iteration(kHide, 0);
    CHECK(iteration(kDepth, 0) > 1.25 * hidden);
    CHECK(iteration(kHide, -1) > 1.15 * hidden);
    CHECK(iteration(kHide, 1) == support::near(hidden));
    CHECK(iteration(kHide, kMiniBatch) > 0.96 * hidden);  // with everything in flight
  }
}
