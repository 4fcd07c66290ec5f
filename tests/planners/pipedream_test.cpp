// PipeDream's dynamic programme on instances small enough to add up by hand or to search exhaustively, and
// the planner.

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"
#include "planners/pipedream/pipedream_cuts.hpp"
#include "planners/pipedream/pipedream_levels.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/pipedream_reference.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using namespace penstock::planners;
using penstock::support::near;

namespace {

/// a -> b -> c: 4, 2 and 2 s; weights only in c, 8 B; outputs 3, 1 and 5 B.
LayerGraph chain() {
  return {{{4, 3, 0}, {2, 1, 0}, {2, 5, 8}}, {{1}, {2}, {}}};
}

double seconds(const LayerGraph& graph, const std::vector<PipedreamLevel>& levels,
               const PipedreamRules& rules = {}) {
  const auto states = antichain_states(graph, 100).value();
  const auto found = pipedream_search(states, levels, rules);
  return found ? found->seconds : -1;
}

PipedreamRules with(PipedreamForm form, std::optional<double> compression = 1.0) {
  PipedreamRules rules;
  rules.form = form;
  rules.compression = compression;
  return rules;
}

constexpr auto kCode = PipedreamForm::code, kPaper = PipedreamForm::paper;

}  // namespace

TEST_CASE("two machines on a chain: the best cut, and what crosses it") {
  // Cut behind a: stages of 4 and 4 s; 2 * 3 B at 1 B/s are 6 s. Behind b: 6 and 2 s, 2 s of transfer: 6 s.
  // Both on all: (8 + 4 * 8 / (1 * 2)) / 2 = 12 s.
  CHECK(seconds(chain(), {{2, 1, {}}}) == 6);
  CHECK(seconds(chain(), {{2, 1, {}}}, with(kCode, std::nullopt)) == 4);  // transfers left out
  CHECK(seconds(chain(), {{2, 1, {}}}, with(kCode, 1.5)) == 4);           // 6 s / 1.5
  // At 1.5 B/s: 4 s. At 100 B/s data parallel takes (8 + 0.16) / 2, not better.
  CHECK(seconds(chain(), {{2, 1.5, {}}}) == 4);
  CHECK(seconds(chain(), {{1, 1, {}}}) == 8);
}

TEST_CASE("the code adds the all-reduce, the paper hides it behind compute") {
  LayerGraph heavy{{{8, 0, 16}}, {{}}};  // one layer: 8 s, 16 B of weights
  CHECK(seconds(heavy, {{2, 4, {}}}) == (8 + 4.0 * 16 / (4 * 2)) / 2);
  CHECK(seconds(heavy, {{2, 4, {}}}, with(kPaper)) == 4);  // 2 * 16 / 4 = 8 s, not more than compute
  CHECK(seconds(heavy, {{2, 2, {}}}, with(kPaper)) == 8);  // 16 s
  // Two levels: inside one machine of 8 s; outside the code divides once more by the machines inside.
  CHECK(seconds(heavy, {{1, 4, {}}, {2, 4, {}}}) == 8);
  CHECK(seconds(heavy, {{2, 4, {}}, {2, 4, {}}}) == (8 + 8.0 / 2) / 2);
  CHECK(seconds(heavy, {{2, 4, {}}, {2, 4, {}}}, with(kPaper)) == 4);  // max(4, 8) / 2
}

TEST_CASE("an update every so many micro-batches spreads the all-reduce over them") {
  LayerGraph heavy{{{8, 0, 16}}, {{}}};
  PipedreamRules rules = with(kPaper);
  rules.update_every = 8;  // 2 replicas take 4 each: 32 s of compute against 16 s, per 8 micro-batches
  CHECK(seconds(heavy, {{2, 2, {}}}, rules) == 4);
  rules.update_every = 2;  // 8 s against 16 s, per 2
  CHECK(seconds(heavy, {{2, 2, {}}}, rules) == 8);
}

TEST_CASE("allowed replica counts, straight pipelines, idle machines") {
  LayerGraph two{{{6, 0, 0}, {2, 0, 0}}, {{1}, {}}};
  CHECK(seconds(two, {{4, 1, {}}}) == 2);      // 3 and 1, or 4 replicas of both
  CHECK(seconds(two, {{4, 1, {1, 2}}}) == 3);  // 2 and 2
  CHECK(seconds(two, {{4, 1, {1}}}) == -1);    // two layers fill two machines
  PipedreamRules rules;
  rules.straight = true;
  CHECK(seconds(two, {{2, 1, {}}}, rules) == 6);
  CHECK(seconds(two, {{3, 1, {}}}, rules) == -1);
  rules.fewer_machines = true;
  CHECK(seconds(two, {{3, 1, {}}}, rules) == 6);
}

TEST_CASE("the memory flag counts copies stashed for the machines behind a stage") {
  // Straight, two machines: the first of two equal layers keeps one copy of its 10 B, the second none.
  LayerGraph two{{{1, 6, 4}, {1, 6, 4}}, {{1}, {}}};
  const auto states = antichain_states(two, 10).value();
  PipedreamRules rules;
  rules.straight = true;
  rules.fits = stash_rule(states, 10);
  CHECK(pipedream_search(states, {{2, 1e9, {}}}, rules));
  rules.fits = stash_rule(states, 9);
  CHECK_FALSE(pipedream_search(states, {{2, 1e9, {}}}, rules));
}

TEST_CASE("states: a branch is entered from its first source, other sources are done where they are needed") {
  // 0 -> 2 -> 3, 1 -> 3: two cuts before 3, which takes 1 with it.
  const LayerGraph graph{{{1, 10, 0}, {2, 20, 0}, {4, 40, 0}, {8, 80, 0}}, {{2}, {3}, {3}, {}}};
  const auto states = antichain_states(graph, 10).value();
  REQUIRE(states.size() == 3);
  CHECK(states[1].compute == 5);
  CHECK(states[2].compute == 15);
  CHECK(states[1].output == 40);
  CHECK_FALSE(antichain_states(graph, 2));
  const auto row = row_states(graph);
  REQUIRE(row.size() == 4);
  CHECK(row[1].output == 30);
  CHECK(row[3].done.all());
}

namespace {

/// The paper's problem stated once more: all ways to cut an interval and to give machines to the stages, each
/// with the best inside. Only the evaluator distinguishes them.
class ExhaustivePipedream {
 public:
  explicit ExhaustivePipedream(const support::PlanRecost& recost) : recost_(recost) {}

  /// Infinity when nothing fits.
  double best(std::size_t level, std::size_t first, std::size_t last) {
    return search(level, first, last).seconds;
  }

 private:
  struct BestStages {
    double seconds = std::numeric_limits<double>::infinity();
    std::vector<PipedreamStage> stages;
  };

  BestStages search(std::size_t level, std::size_t first, std::size_t last) {
    BestStages best;
    std::vector<PipedreamStage> behind;
    extend(level, first, last, recost_.levels[level].machines, behind, best, last);
    return best;
  }

  /// Puts stages before those of `behind`, from the back.
  void extend(std::size_t level, std::size_t first, std::size_t last, int machines,
              std::vector<PipedreamStage>& behind, BestStages& best, std::size_t end) {
    for (std::size_t begin = first; begin <= last; ++begin) {
      if (begin > first && !precedes(begin - 1, last)) continue;
      std::vector<PipedreamStage> inside;
      if (level > 0) {
        inside = search(level - 1, begin, last).stages;
        if (inside.empty()) continue;
      }
      for (int m = 1; m <= machines; ++m) {
        if (begin > first && m == machines) break;
        behind.insert(behind.begin(), {begin, last, m, inside});
        if (begin > first)
          extend(level, first, begin - 1, machines - m, behind, best, end);
        else
          consider(level, first, end, behind, best);
        behind.erase(behind.begin());
      }
    }
  }

  void consider(std::size_t level, std::size_t first, std::size_t end,
                const std::vector<PipedreamStage>& stages, BestStages& best) {
    try {
      const double seconds = recost_.at(stages, level, first, end);
      if (seconds < best.seconds) best = {seconds, stages};
    } catch (const std::runtime_error&) {  // machines left over, or too much stashed
    }
  }

  bool precedes(std::size_t a, std::size_t b) const {
    std::vector<bool> reached(recost_.states.size());
    reached[a] = true;
    for (std::size_t s = a; s <= b; ++s)
      if (reached[s])
        for (std::size_t t : recost_.states[s].next) reached[t] = true;
    return reached[b];
  }

  const support::PlanRecost& recost_;
};

LayerGraph random_layers(core::Random& random) {
  const int size = random.between(2, 5);
  const bool chain = random.chance(0.4);
  LayerGraph graph;
  graph.next.resize(static_cast<std::size_t>(size));
  for (int v = 0; v < size; ++v) {
    graph.layers.push_back(
        {random.between(0, 9) * 0.5, random.between(0, 9) * 10.0, random.between(0, 9) * 20.0});
    for (int u = 0; u < v; ++u)
      if (chain ? u == v - 1 : (u == v - 1 && random.chance(0.6)) || random.chance(0.3))
        graph.next[static_cast<std::size_t>(u)].push_back(static_cast<std::size_t>(v));
  }
  return graph;
}

PipedreamRules random_rules(core::Random& random) {
  PipedreamRules rules;
  rules.form = random.chance(0.5) ? kCode : kPaper;
  if (random.chance(0.25))
    rules.compression.reset();
  else if (random.chance(0.25))
    rules.compression = 4;
  rules.straight = random.chance(0.2);
  rules.fewer_machines = random.chance(0.2);
  return rules;
}

void check_against_exhaustive(std::uint64_t seed) {
  CAPTURE(seed);
  core::Random random(seed);
  const LayerGraph graph = random_layers(random);
  const auto states = antichain_states(graph, 6);
  if (!states) return;
  std::vector<PipedreamLevel> levels{{random.between(1, 4), random.between(1, 20) * 10.0, {}}};
  if (random.chance(0.5)) levels.push_back({random.between(1, 3), random.between(1, 20) * 10.0, {}});
  PipedreamRules rules = random_rules(random);
  const double limit = random.chance(0.5) ? random.between(1, 60) * 20.0 : 0;
  if (limit > 0) rules.fits = stash_rule(*states, limit);
  const support::PlanRecost recost{graph, *states, levels, rules, limit};
  const double best = ExhaustivePipedream(recost).best(levels.size() - 1, 0, states->size() - 1);
  const auto found = pipedream_search(*states, levels, rules);
  REQUIRE(found.has_value() == std::isfinite(best));
  if (!found) return;
  CHECK(found->seconds == near(best, 1e-12));
  CHECK(recost(found->stages) == near(best, 1e-12));
}

}  // namespace

TEST_CASE("the search equals exhaustive search, chains and DAGs, one level and two, tight memory and loose") {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) check_against_exhaustive(seed);
}

TEST_CASE("stages of a replicated node have the same positions on each node") {
  // Outer level: 2 nodes, both hold 3 devices of stage A and 1 of stage B.
  const std::vector<PipedreamStage> plan{{0, 9, 2, {{0, 4, 3, {}}, {5, 9, 1, {}}}}};
  const auto placed = place(plan, {{4, 1, {}}, {2, 1, {}}});
  REQUIRE(placed.size() == 2);
  const auto numbers = [](const PlacedStage& stage) {
    std::vector<std::size_t> out;
    for (core::DeviceId d : stage.devices) out.push_back(d.index());
    return out;
  };
  CHECK(numbers(placed[0]) == std::vector<std::size_t>{0, 1, 2, 4, 5, 6});
  CHECK(numbers(placed[1]) == std::vector<std::size_t>{3, 7});
}

TEST_CASE("the planners' plans are valid on random problems, or there is a reason; estimates are theirs") {
  int planned = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const auto random = support::random_problem(seed);
    for (const char* name : {"pipedream", "pipedream_2bw"}) {
      CAPTURE(seed);
      CAPTURE(name);
      try {
        const auto found = planner(name).plan(random.problem(), {}, {});
        CHECK(score::violations(random.problem(), found.plan) == std::vector<std::string>{});
        CHECK(found.plan.schedule == name);
        REQUIRE(found.estimate);
        CHECK(found.estimate->value() ==
              near(found.bottleneck * static_cast<double>(random.training.mini_batch)));
        CHECK(found.states > 0);
        ++planned;
      } catch (const core::Infeasible& e) {
        CHECK(std::string(e.what()).find("no ") == 0);
      }
    }
  }
  CHECK(planned > 100);
}

TEST_CASE("over nodes too, a stage lies between a cut and one it leads to, whatever the cost formula") {
  // Two branches: inside a node a pipeline may begin behind one cut and end its first stage at a cut beside
  // it.
  const auto graph = models::build("case_study", {});
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {8, plan::Optimizer::sgd}};
  for (const char* formula : {"paper", "code"})
    for (const char* straight : {"false", "true"}) {
      CAPTURE(formula);
      CAPTURE(straight);
      SearchOptions options;
      options.own = {{"formula", formula}, {"straight", straight}};
      const auto found = planner("pipedream").plan(problem, options, {});
      CHECK(score::violations(problem, found.plan) == std::vector<std::string>{});
    }
}

TEST_CASE("memory: the message has the least memory of a device, and with it there is a plan") {
  const auto graph = models::build("vgg16", {});
  const cost::AnalyticCosts costs;
  const auto attempt = [&](std::int64_t bytes) {
    const auto cluster = support::tiny_cluster(4, bytes);
    return planner("pipedream")
        .plan({graph, cluster, costs, {64, plan::Optimizer::sgd}}, {}, {})
        .plan.stages.size();
  };
  CHECK(attempt(std::int64_t{16} << 30) >= 1);
  CHECK_THROWS_WITH_AS(attempt(std::int64_t{256} << 20), doctest::Contains("missing"), core::Infeasible);
}

TEST_CASE("options that pipedream does not have are refused") {
  const auto random = support::random_problem(1);
  SearchOptions options;
  options.k = 2;
  CHECK_THROWS_AS(planner("pipedream").plan(random.problem(), options, {}), core::BadInput);
  CHECK_THROWS_AS(planner("pipedream_2bw").plan(random.problem(), options, {}), core::BadInput);
  options = {};
  options.per_stage_micro_batch = true;
  CHECK_THROWS_AS(planner("pipedream").plan(random.problem(), options, {}), core::BadInput);
}

TEST_CASE(
    "a model with too many cuts is cut along one row of its operators; one with few, between its branches") {
  const cost::AnalyticCosts costs;
  const auto cluster = support::tiny_cluster(4);
  const auto cuts = [&](const graph::OpGraph& graph) {
    return ProblemCuts(cost::Problem{graph, cluster, costs, {8, plan::Optimizer::sgd}}).size();
  };
  // Two branches of 40 from sources of their own, and the join: 41 * 41 - 1 cuts before it. Of 60: one per
  // operator.
  const auto branches = [](int length) {
    std::vector<std::pair<int, int>> edges;
    for (int v = 0; v < 2 * length; ++v) edges.emplace_back(v, (v + 1) % length == 0 ? 2 * length : v + 1);
    return support::tiny_graph(static_cast<std::size_t>(2 * length + 1), edges);
  };
  CHECK(cuts(branches(40)) == 41 * 41 - 1 + 1);
  CHECK(cuts(branches(60)) == 121);
}
