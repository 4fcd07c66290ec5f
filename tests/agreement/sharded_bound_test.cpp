// Bounds against plans with tensor parallelism, ZeRO and compressed gradients: all of small problems, random
// ones of any shape.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/plan_pipeline.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/every_plan.hpp"
#include "support/partitions.hpp"
#include "support/random_problem.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using plan::Partition;
using score::PlanFamily;

namespace {

constexpr PlanFamily kFamilies[] = {PlanFamily::replicated, PlanFamily::zero, PlanFamily::tensor_parallel};

/// Seconds per iteration; without a flush over the whole run, which begins and ends with nothing in flight.
/// The rate of its second half, from the simulator, profits from what the first has begun.
double simulated(const cost::Problem& problem, const plan::Plan& plan) {
  if (plan::asynchronous(plan)) {
    const trace::Trace trace = sim::simulate(problem, score::scheduled(problem, plan));
    core::Picoseconds end;
    for (const trace::Span& span : trace.spans) end = std::max(end, span.end);
    return to_seconds(end).value() / static_cast<double>(trace.mini_batches);
  }
  return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan))).value();
}

/// Empty if by the bound no plan of the family fits.
std::optional<score::ProblemBounds> bounds(const cost::Problem& problem, PlanFamily family) {
  try {
    return score::problem_bounds(problem, score::ReductionTiming::closed_form, family);
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

/// Every plan of one small problem, by family: that no bound is above it, and the fastest.
class AllPlans {
 public:
  explicit AllPlans(const cost::Problem& problem) : problem_(problem) {
    for (std::size_t f = 0; f < std::size(kFamilies); ++f) bounds_[f] = bounds(problem, kFamilies[f]);
    support::for_each_plan(problem, [&](const plan::Plan& plan) { check(plan); },
                           {{1, 0},
                            {1, 1},
                            {1, 2},
                            {1, 3},
                            {2, 0},
                            {2, 1},
                            {2, 2},
                            {2, 3},
                            {3, 0},
                            {4, 0},
                            {1, 0, plan::kRecomputeStage},
                            {2, 0, plan::kRecomputeLayers}});
  }
  /// Bound over the fastest plan of the family and those before it; nothing where there is none.
  std::optional<double> ratio(std::size_t family) const {
    const double fastest = *std::min_element(fastest_, fastest_ + family + 1);
    if (std::isinf(fastest)) return std::nullopt;
    return bounds_[family]->best().time.value() / fastest;
  }

 private:
  void check(const plan::Plan& plan) {
    const double seconds = simulated(problem_, plan);
    const auto family = static_cast<std::size_t>(score::family_of(plan));
    fastest_[family] = std::min(fastest_[family], seconds);
    for (std::size_t f = family; f < std::size(kFamilies); ++f) {
      REQUIRE(bounds_[f]);
      CAPTURE(f);
      CAPTURE(name(bounds_[f]->best().kind));
      CHECK(bounds_[f]->holds_for(plan).time.value() <= seconds);
    }
    CHECK(score::least_iteration(problem_, plan, score::ReductionTiming::closed_form).value() <= seconds);
    if (const auto bound = score::lower_bound(problem_, plan))
      CHECK(to_seconds(bound->time).value() <= seconds);
  }

  const cost::Problem& problem_;
  std::optional<score::ProblemBounds> bounds_[3];
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  double fastest_[3] = {kNone, kNone, kNone};
};

cost::Problem compressed(const support::RandomProblem& drawn, std::uint64_t seed) {
  cost::Problem problem = drawn.problem();
  constexpr double kRatios[] = {1, 0.5, 0.01};
  problem.training.compression = {kRatios[seed % 3], kRatios[seed / 3 % 3]};
  return problem;
}

/// The number of problems with a plan; prints how sharp bounds are.
std::size_t check_all_plans(std::uint64_t first, std::uint64_t last, std::size_t most_operators,
                            std::size_t most_devices) {
  std::vector<double> ratios[3];
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const auto drawn = support::random_problem(seed);
    if (drawn.graph.size() > most_operators || drawn.cluster.size() > most_devices) continue;
    const cost::Problem problem = compressed(drawn, seed);
    const AllPlans all(problem);
    for (std::size_t f = 0; f < 3; ++f)
      if (const auto ratio = all.ratio(f)) ratios[f].push_back(*ratio);
  }
  for (std::size_t f = 0; f < 3; ++f) {
    std::sort(ratios[f].begin(), ratios[f].end());
    MESSAGE(ratios[f].size() << " problems, bound over the fastest plan, " << name(kFamilies[f])
                             << ": median " << ratios[f][ratios[f].size() / 2] << ", least "
                             << ratios[f].front() << ", most " << ratios[f].back());
    CHECK(ratios[f][ratios[f].size() / 2] > 0.7);
  }
  return ratios[2].size();
}

// Random plans.

class PlanDraw {
 public:
  PlanDraw(const cost::Problem& problem, std::uint64_t seed)
      : problem_(problem), random_(seed), partitions_(support::all_partitions(problem.graph.dag())) {}

  /// Any stages on any devices, divided in any way; nothing where the schedule or memory refuses them.
  std::optional<plan::Plan> plan() {
    plan::Plan plan;
    plan.training = problem_.training;
    constexpr const char* kSchedules[] = {"1f1b", "gpipe", "list_order", "zb_h1", "pipedream_2bw"};
    plan.schedule = kSchedules[pick(std::size(kSchedules))];
    const auto chosen =
        *std::next(partitions_.begin(), static_cast<std::ptrdiff_t>(pick(partitions_.size())));
    if (chosen.size() > problem_.cluster.size()) return std::nullopt;
    std::size_t next = 0;
    const std::int64_t micro_batch = std::int64_t{1} << random_.between(0, 3);
    for (std::size_t s = 0; s < chosen.size(); ++s) {
      const std::size_t later = chosen.size() - s - 1, left = problem_.cluster.size() - next - later;
      plan.stages.push_back(stage(chosen[s], next, later == 0 ? left : 1 + pick(left)));
      plan.stages.back().micro_batch = micro_batch;
      next += plan.stages.back().devices.size();
    }
    return valid(plan) ? std::optional(plan) : std::nullopt;
  }

 private:
  std::size_t pick(std::size_t size) {
    return static_cast<std::size_t>(random_.between(0, static_cast<int>(size) - 1));
  }

  plan::Stage stage(support::UnitSet operators, std::size_t first, std::size_t devices) {
    plan::Stage out;
    for (std::size_t d = first; d < first + devices; ++d) out.devices.emplace_back(d);
    const std::size_t group = 1 + pick(devices);
    out.tensor_parallel = devices % group == 0 ? static_cast<int>(group) : 1;
    out.zero = random_.chance(0.5) ? random_.between(1, 3) : 0;
    out.sequence_parallel = out.tensor_parallel > 1 && random_.chance(0.3);
    constexpr plan::Recomputation kAgain[] = {plan::kRecomputeStage, plan::kRecomputeEarly,
                                              plan::kRecomputeLayers};
    if (random_.chance(0.3)) out.recompute = kAgain[pick(3)];
    for (std::size_t op = 0; op < problem_.graph.size(); ++op)
      if (operators >> op & 1) out.operators.emplace_back(op);
    constexpr Partition kPartitions[] = {Partition::whole, Partition::column, Partition::row,
                                         Partition::batch};
    for (const core::OpId op : out.operators)
      if (out.tensor_parallel > 1 && random_.chance(0.5))
        out.partition[op] = kPartitions[pick(out.zero > 0 ? 3 : 4)];
    if (random_.chance(0.5))
      for (int d = 0; d < out.tensor_parallel; ++d) out.shares.push_back(random_.between(1, 3));
    return out;
  }

  bool valid(plan::Plan& plan) const {
    try {
      if (!plan::structural_violations(problem_.graph, problem_.cluster, plan).empty()) return false;
      score::derive_in_flight(problem_, plan);
      return score::violations(problem_, plan).empty();
    } catch (const core::BadInput&) {  // the schedule does not take these stages
      return false;
    }
  }

  const cost::Problem& problem_;
  core::Random random_;
  support::Partitions partitions_;
};

/// Launches of 50 ms on devices of 1 and 2 GFLOP/s; the slower have more memory. Half of the time memory is
/// so slow that updates count.
cluster::Cluster two_types(core::Random& random, core::Bytes memory) {
  const auto plain = support::tiny_cluster(static_cast<std::size_t>(random.between(1, 6)), memory.value(),
                                           200 + 2000 * random.unit(), random.unit() / 10);
  cluster::DeviceType slow = plain.types().front();
  slow.peak = {core::FlopRate(1e9)};
  slow.launch_overhead = core::Seconds(0.05);
  if (random.chance(0.5)) slow.memory_bandwidth = core::Bandwidth(1e4);
  cluster::DeviceType fast = slow;
  fast.name = "fast";
  fast.peak = {core::FlopRate(2e9)};
  slow.memory = slow.memory * 2;
  auto devices = plain.devices();
  for (cluster::Device& device : devices) device.type = random.chance(0.5) ? 1 : 0;
  return cluster::Cluster("two types", {slow, fast}, devices, 1, plain.links());
}

/// Plans, and how many of them divide operators.
struct PlanTally {
  std::size_t plans = 0, divided = 0;
};

void check_plan(const cost::Problem& problem, const plan::Plan& plan, PlanTally& tried) {
  CAPTURE(plan.schedule);
  const double seconds = simulated(problem, plan);
  CHECK(score::bound_for(problem, plan).time.value() <= seconds);
  CHECK(score::least_iteration(problem, plan, score::ReductionTiming::closed_form).value() <= seconds);
  if (const auto bound = score::lower_bound(problem, plan)) CHECK(to_seconds(bound->time).value() <= seconds);
  ++tried.plans;
  tried.divided += score::family_of(plan) == PlanFamily::tensor_parallel;
}

PlanTally check_random_plans(std::uint64_t first, std::uint64_t last) {
  PlanTally tried;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const auto drawn = support::random_problem(seed);
    if (drawn.graph.size() > 6) continue;
    const auto cluster = two_types(random, drawn.cluster.types().front().memory);
    const cost::AnalyticCosts analytic;
    const cost::CostModel* costs = &analytic;
    if (random.chance(0.5)) costs = &drawn.costs;
    const cost::Problem problem{drawn.graph, cluster, *costs, compressed(drawn, seed).training};
    PlanDraw draw(problem, seed);
    for (int i = 0; i < 20; ++i)
      if (const auto plan = draw.plan()) check_plan(problem, *plan, tried);
  }
  return tried;
}

}  // namespace

TEST_CASE("no plan of a small problem beats the bound of its family, divided in any way") {
  CHECK(check_all_plans(1, 1000, 3, 4) > 100);
}

TEST_CASE("no divided plan of any shape beats the bound, on two kinds of devices") {
  const PlanTally tried = check_random_plans(1, 500);
  MESSAGE(tried.plans << " plans, " << tried.divided << " with tensor parallelism");
  CHECK(tried.divided > 500);
}

namespace {

/// Eight in a row, of whom so many keep 1,000 B of a sample, the first ones.
graph::OpGraph row_that_keeps(std::size_t keep) {
  graph::GraphBuilder builder("row");
  for (std::size_t op = 0; op < 8; ++op) {
    graph::Operator unit = support::unit_op(fmt::format("op{}", op));
    if (op >= keep) unit.output_bytes = unit.saved_bytes = core::Bytes(0);
    builder.add(unit);
    if (op > 0) builder.add_edge(core::OpId(op - 1), core::OpId(op));
  }
  return builder.build();
}

}  // namespace

TEST_CASE("no plan beats the bound where memory holds few samples, which is what bounds most of them") {
  std::size_t problems = 0, by_residency = 0;
  double sharpest = 0;
  for (const std::size_t keep : {1, 8})
    for (const double launch : {1.0, 4.0})  // small micro-batches are slow
      for (std::size_t devices = 1; devices <= 3; ++devices)
        for (std::int64_t samples = 1; samples <= 6; ++samples) {
          CAPTURE(keep);
          CAPTURE(launch);
          CAPTURE(devices);
          CAPTURE(samples);
          const auto graph = row_that_keeps(keep);
          std::vector<support::LaunchCosts::PassTime> passes(8, {launch, 1});
          if (keep == 1) passes.front() = {0, 10};  // no plan computes it again
          const support::LaunchCosts costs(passes);
          const auto cluster =
              support::tiny_cluster(devices, samples * static_cast<std::int64_t>(1000 * keep + 1));
          cost::Problem problem{graph, cluster, costs, {24, plan::Optimizer::sgd}};
          problem.memory.transient = false;
          const AllPlans all(problem);
          const auto ratio = all.ratio(2);
          if (!ratio) continue;
          ++problems;
          const auto best = bounds(problem, PlanFamily::tensor_parallel)->best();
          if (best.kind != score::ProblemBoundKind::residency) continue;
          ++by_residency;
          sharpest = std::max(sharpest, *ratio);
        }
  MESSAGE(problems << " problems, " << by_residency << " bounded by residency, at " << sharpest
                   << " of the fastest plan");
  CHECK(problems > 50);
  CHECK(by_residency > 20);
  CHECK(sharpest > 0.9);
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("no plan of a small problem beats the bound of its family, many seeds") {
  CHECK(check_all_plans(1001, 22000, 3, 4) > 4000);
}

TEST_CASE("no divided plan of any shape beats the bound, many seeds") {
  CHECK(check_random_plans(301, 8000).divided > 8000);
}

TEST_SUITE_END();
