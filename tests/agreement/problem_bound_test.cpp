// The bound of a problem against plans: all of a small problem, random ones of any shape, every planner's on
// the zoo.

#include "penstock/score/problem_bound.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/checkout.hpp"
#include "support/every_plan.hpp"
#include "support/partitions.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

double simulated(const cost::Problem& problem, const plan::Plan& plan) {
  return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan))).value();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Infinite when no plan fits.
double least_simulated(const cost::Problem& problem) {
  double least = std::numeric_limits<double>::infinity();
  support::for_each_plan(problem,
                         [&](const plan::Plan& plan) { least = std::min(least, simulated(problem, plan)); });
  return least;
}

/// Empty if by the bound no plan fits.
std::optional<score::ProblemBound> bound(const cost::Problem& problem) {
  try {
    return score::problem_bounds(problem).best();
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
}

/// Ratios of bound to optimum.
std::vector<double> check_seeds(std::uint64_t first, std::uint64_t last, std::size_t most_operators) {
  std::vector<double> ratios;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    if (random.graph.size() > most_operators) continue;
    const double optimum = least_simulated(random.problem());
    const auto least = bound(random.problem());
    if (!least) CHECK(std::isinf(optimum));
    if (!least || std::isinf(optimum)) continue;
    CAPTURE(name(least->kind));
    CHECK(least->time.value() <= optimum);
    ratios.push_back(least->time.value() / optimum);
  }
  return ratios;
}

void report(const std::vector<double>& ratios) {
  MESSAGE(ratios.size() << " problems, bound over optimum: median " << median(ratios) << ", least "
                        << *std::min_element(ratios.begin(), ratios.end()) << ", most "
                        << *std::max_element(ratios.begin(), ratios.end()));
}

// Random plans.

/// Two device types, the second twice as fast and with less memory.
cluster::Cluster mixed_cluster(core::Random& random, std::size_t devices) {
  cluster::DeviceType slow{"slow", core::Bytes(1 << 20), core::Bandwidth(1e15), {core::FlopRate(1e12)},
                           1,      core::Seconds(0)};
  cluster::DeviceType fast = slow;
  fast.name = "fast";
  fast.peak = {core::FlopRate(2e12)};
  fast.memory = core::Bytes(1 << 19);
  fast.overlap_slowdown = 1.25;
  std::vector<cluster::Device> list(devices);
  for (cluster::Device& device : list) device.type = random.chance(0.5) ? 1 : 0;
  std::vector<cluster::Link> links;
  for (std::size_t d = 0; d < devices; ++d)
    for (const auto& [from, to] : {std::pair{d, devices}, std::pair{devices, d}})
      links.push_back(
          {from, to, core::Bandwidth(1e4 * (1 + random.unit())), core::Seconds(random.unit() / 10)});
  return cluster::Cluster("mixed", {slow, fast}, list, 1, links);
}

/// Saturating times, twice as fast on devices of twice the peak rate; weight gradients where there are
/// weights.
class MixedCosts final : public cost::CostModel {
 public:
  cost::OpTime op_time(const graph::OpGraph& graph, core::OpId id, const cluster::DeviceType& device,
                       std::int64_t samples) const override {
    const graph::Operator& op = graph.op(id);
    if (op.kind == graph::OpKind::input) return {};
    const double scale = 1e12 / device.peak_rate(cluster::Precision::fp32).value();
    const auto number = static_cast<double>(id.index());
    const core::Seconds time((0.3 + 0.1 * number + static_cast<double>(samples)) * scale);
    return {time, time * 0.9, op.parameters > 0 ? time * 0.7 : core::Seconds(0)};
  }
};

/// Any stages, replica counts and sizes; several stages on one device set; any schedule that takes them.
std::optional<plan::Plan> random_plan(core::Random& random, const cost::Problem& problem,
                                      const std::vector<support::Partition>& partitions) {
  const auto pick = [&](std::size_t size) {
    return static_cast<std::size_t>(random.between(0, static_cast<int>(size) - 1));
  };
  const support::Partition& partition = partitions[pick(partitions.size())];
  const std::size_t devices = problem.cluster.size(), sets = std::min(devices, 1 + pick(partition.size()));
  std::vector<std::vector<core::DeviceId>> device_sets(sets);
  for (std::size_t d = 0; d < devices; ++d) device_sets[d < sets ? d : pick(sets)].emplace_back(d);
  plan::Plan plan;
  plan.training = problem.training;
  constexpr const char* kSchedules[] = {
      "1f1b", "gpipe", "list_order", "zb_h1", "zb_1p", "interleaved_1f1b", "looped_bfs", "pipedream_2bw"};
  plan.schedule = kSchedules[pick(std::size(kSchedules))];
  if (plan.schedule == "list_order" && sets < partition.size()) return std::nullopt;  // one stage per device
  const std::int64_t size = std::int64_t{1} << random.between(0, 3);
  const bool mixed_sizes = random.chance(0.3), recompute = random.chance(0.3);
  for (std::size_t s = 0; s < partition.size(); ++s) {
    plan::Stage stage;
    stage.devices = device_sets[s % sets];
    stage.micro_batch = mixed_sizes ? std::int64_t{1} << random.between(0, 3) : size;
    if (recompute && random.chance(0.5))
      stage.recompute = random.chance(0.5) ? plan::kRecomputeLayers : plan::kRecomputeStage;
    for (std::size_t op = 0; op < problem.graph.size(); ++op)
      if (partition[s] >> op & 1) stage.operators.emplace_back(op);
    plan.stages.push_back(std::move(stage));
  }
  try {
    if (!plan::structural_violations(problem.graph, problem.cluster, plan).empty()) return std::nullopt;
    score::derive_in_flight(problem, plan);
    if (!score::violations(problem, plan).empty()) return std::nullopt;
  } catch (const core::BadInput&) {  // the schedule does not take these stages
    return std::nullopt;
  }
  return plan;
}

std::size_t check_random_plans(std::uint64_t first, std::uint64_t last) {
  std::size_t tried = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const auto drawn = support::random_problem(seed);
    if (drawn.graph.size() > 6) continue;
    const MixedCosts costs;
    const auto cluster = mixed_cluster(random, static_cast<std::size_t>(random.between(1, 5)));
    const cost::Problem problem{drawn.graph, cluster, costs, {8, plan::Optimizer::adam}};
    const auto all = support::all_partitions(drawn.graph.dag());
    const std::vector<support::Partition> partitions(all.begin(), all.end());
    const auto least = score::problem_bounds(problem);
    for (int i = 0; i < 20; ++i) {
      const auto plan = random_plan(random, problem, partitions);
      if (!plan) continue;
      CAPTURE(plan->schedule);
      CAPTURE(name(least.best().kind));
      const double seconds = simulated(problem, *plan);
      CHECK(least.holds_for(*plan).time.value() <= seconds);
      CHECK(score::least_iteration(problem, *plan, score::Reduction::closed_form).value() <= seconds);
      ++tried;
    }
  }
  return tried;
}

}  // namespace

TEST_CASE("no plan of a small problem beats the bound") {
  const auto ratios = check_seeds(1, 150, 4);
  report(ratios);
  CHECK(median(ratios) > 0.5);
}

TEST_CASE("no plan of any shape beats the bound, on two kinds of devices") {
  const std::size_t tried = check_random_plans(1, 150);
  MESSAGE(tried << " plans");
  CHECK(tried > 300);
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("no plan of a small problem beats the bound, many seeds") {
  const auto ratios = check_seeds(151, 8000, 5);
  report(ratios);
  CHECK(ratios.size() > 2000);
}

TEST_CASE("no plan of any shape beats the bound, many seeds") {
  CHECK(check_random_plans(151, 4000) > 8000);
}

TEST_CASE("no planner's plan of a network beats the bound") {
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(8);
  const cost::AnalyticCosts costs;
  std::vector<double> ratios;
  for (const auto& info : models::catalogue()) {
    if (info.name == "inception_v3" || info.name == "gpt" || info.name == "opt" || info.name == "llama" ||
        info.name == "gpt_neox" || info.name == "mixtral" || info.name == "deepseek_v3" ||
        info.name == "decoder")
      continue;  // long searches, or experts that fit on no device
    const auto graph = models::build(info.name);
    const cost::Problem problem{graph, cluster, costs, {128, plan::Optimizer::sgd}};
    const auto bounds = score::problem_bounds(problem);
    double best = std::numeric_limits<double>::infinity();
    for (const auto& planner : planners::catalogue()) {
      CAPTURE(info.name);
      CAPTURE(planner.name);
      try {
        const plan::Plan plan = planner.plan(problem, {}, {}).plan;
        const double seconds = simulated(problem, plan);
        const auto family = score::family_of(plan);
        const auto held = score::problem_bounds(problem, score::Reduction::closed_form, family);
        CHECK(held.holds_for(plan).time.value() <= seconds);
        if (family == score::PlanFamily::replicated && !plan::asynchronous(plan))
          best = std::min(best, seconds);
      } catch (const core::Error& e) {  // no plan, or too large a model for the planner
        CHECK((e.code() == core::ExitCode::infeasible || e.code() == core::ExitCode::limit));
      }
    }
    if (std::isinf(best)) continue;
    ratios.push_back(bounds.best().time.value() / best);
    MESSAGE(info.name << ": " << ratios.back() << " (" << name(bounds.best().kind) << ")");
  }
  report(ratios);
  CHECK(median(ratios) > 0.3);
}

TEST_SUITE_END();
