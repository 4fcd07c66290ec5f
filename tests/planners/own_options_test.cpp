// Options of single planners: read strictly, and each has an effect.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"
#include "support/random_problem.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using planners::PlannerOption;

namespace {

std::string fault_of(const std::string& choice) {
  try {
    planners::planner_choice(choice);
    return "";
  } catch (const core::BadInput& e) {
    return e.what();
  }
}

/// The plan and the planner's messages; or the reason why there is none.
std::string result(const planners::PlannerInfo& planner, const cost::Problem& problem,
                   const planners::OwnOptions& own) {
  planners::SearchOptions options;
  options.own = own;
  options.judge_another = [](const cost::Problem&, planners::SearchOptions&) {};  // by the estimate too
  if (planner.name == "joint") options.own.try_emplace("evaluations", "200");     // its walks are long
  try {
    const auto found = planner.plan(problem, options, {});
    CHECK(score::violations(problem, found.plan) == std::vector<std::string>{});
    return fmt::format("{}{}", plan::to_yaml(problem.graph, found.plan),
                       found.estimate.value_or(core::Seconds(0)).value());
  } catch (const core::Error& e) {
    return e.what();
  }
}

/// Values worth trying: all words, or the least number and the default, the next where they are one; beside
/// the word of joined numbers two of them.
std::vector<std::string> tried(const PlannerOption& option) {
  if (option.joined) return {option.standard, "1-1"};
  if (!option.values.empty()) return option.values;
  const std::string low = std::to_string(option.low);
  return {low, option.standard == low ? std::to_string(option.low + 1) : option.standard};
}

/// Pairs of values that have not led to different results yet.
using Pairs = std::set<std::pair<std::string, std::string>>;

/// Leaves those pairs that do the same on this problem too.
void tell_apart(const planners::PlannerInfo& planner, const PlannerOption& option,
                const cost::Problem& problem, Pairs& alike) {
  std::map<std::string, std::string> results;
  const auto result_of = [&](const std::string& value) {
    auto [entry, added] = results.try_emplace(value);
    if (added) entry->second = result(planner, problem, {{option.name, value}});
    return entry->second;
  };
  std::erase_if(alike, [&](const auto& pair) { return result_of(pair.first) != result_of(pair.second); });
}

/// A decoder whose one sample of a mini-batch leaves all but one device idle, unless its tokens are divided.
struct LongSequence {
  graph::OpGraph graph = models::build("gpt", {{"layers", "2"}, {"sequence", "4096"}, {"positions", "4096"}});
  cluster::Cluster cluster = support::tiny_cluster(4, std::int64_t{1} << 34);
  cost::AnalyticCosts costs;
  cost::Problem problem() const { return {graph, cluster, costs, {1, plan::Optimizer::sgd}}; }
};

/// The decoder of LongSequence on devices of 1,000 MiB: less than the cores of its attention leave in memory.
struct LittleMemory {
  LongSequence long_sequence;
  cluster::Cluster cluster = support::tiny_cluster(4, std::int64_t{1000} << 20);
  cost::Problem problem() const {
    return {long_sequence.graph, cluster, long_sequence.costs, {4, plan::Optimizer::sgd}};
  }
};

/// A layer whose 16 experts of 3 x 4096 x 65536 numbers, with their gradients, take 103 GB, more than a
/// device has, and half of them 52. No node has two devices, for a tensor-parallel group.
struct LargeMixture {
  graph::OpGraph graph = models::build(
      "mixtral", {{"layers", "1"}, {"sequence", "512"}, {"experts", "16"}, {"expert_width", "65536"}});
  cluster::Cluster cluster = cluster::load_cluster("1xH100x4");
  cost::AnalyticCosts costs;
  cost::Problem problem() const { return {graph, cluster, costs, {4, plan::Optimizer::sgd}}; }
};

/// Enough devices for a part of them to come first.
struct ManyDevices {
  graph::OpGraph graph = models::build("candle_uno", {});
  cluster::Cluster cluster = cluster::load_cluster("8xH100x16");
  cost::AnalyticCosts costs;
  cost::Problem problem() const { return {graph, cluster, costs, {16384, plan::Optimizer::adam}}; }
};

/// Towers whose weights are best not on every device, before layers that are.
struct TowerProblem {
  graph::OpGraph graph = models::build(
      "dlrm", {{"branches", "3"}, {"table_rows", "1000"}, {"tower_layers", "2"}, {"top_layers", "0"}});
  cluster::Cluster cluster = cluster::load_cluster("1xH100x4");
  cost::AnalyticCosts costs;
  cost::Problem problem() const { return {graph, cluster, costs, {512, plan::Optimizer::adam}}; }
};

}  // namespace

TEST_CASE("a planner with options is written with colons, and read back") {
  const auto plain = planners::planner_choice("spp");
  CHECK(plain == planners::PlannerChoice{"spp", {}});
  CHECK(planners::written(plain) == "spp");
  const auto two = planners::planner_choice("piper:recompute=never:flush=true");
  CHECK(two == planners::PlannerChoice{"piper", {{"flush", "true"}, {"recompute", "never"}}});
  CHECK(planners::written(two) == "piper:flush=true:recompute=never");
  CHECK(planners::planner_choice(planners::written(two)) == two);
}

TEST_CASE("options and values that do not exist are refused, with a hint") {
  CHECK(fault_of("pipr:flush=true").starts_with("unknown planner 'pipr'; did you mean 'piper'"));
  CHECK(fault_of("piper:flash=true") == "piper: unknown option 'flash'; did you mean 'flush'?");
  CHECK(fault_of("piper:flush=yes") == "piper: flush: expected false, true, not 'yes'");
  CHECK(fault_of("piper:flush") == "piper: expected option=value, not 'flush'");
  CHECK(fault_of("piper:") == "piper: expected option=value, not ''");
  CHECK(fault_of("piper:flush=true:flush=true") == "piper: flush is given twice");
  CHECK(fault_of("single_device:flush=true") == "single_device has no options, not 'flush' either");
  CHECK(fault_of("exhaustive:operators=0") == "exhaustive: operators: expected 1 to 20, not '0'");
  CHECK(fault_of("exhaustive:operators=1") == "");
  CHECK(fault_of("exhaustive:operators=20") == "");
  CHECK(fault_of("exhaustive:operators=21") != "");
  CHECK(fault_of("exhaustive:operators=1x") != "");
  CHECK(fault_of("given:layers=3-x") ==
        "given: layers: expected all, or numbers of 0 to 4096 as in 3-4-3-2, not '3-x'");
  for (const char* wrong : {"", "-", "3-", "-3", "3--4", "4097", "3 4", "any"})
    CHECK(fault_of("given:layers=" + std::string(wrong)) != "");
  for (const char* right : {"all", "0-12-0", "12", "4096"})
    CHECK(fault_of("given:layers=" + std::string(right)) == "");
  const auto random = support::random_problem(1);
  planners::SearchOptions options;
  options.own = {{"flash", "true"}};  // the planner itself does not take it either
  CHECK_THROWS_AS(planners::planner("piper").plan(random.problem(), options, {}), core::BadInput);
}

TEST_CASE("every option of every planner makes a difference, its default none; plans stay valid") {
  const LongSequence tokens;
  const LittleMemory cores;
  const LargeMixture mixture;
  const ManyDevices many;
  const TowerProblem towers;
  for (const auto& planner : planners::catalogue())
    for (const PlannerOption& option : planner.options) {
      CAPTURE(planner.name);
      CAPTURE(option.name);
      const auto values = tried(option);
      REQUIRE(std::set<std::string>(values.begin(), values.end()).contains(option.standard));
      Pairs alike;
      for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) alike.insert({values[i], values[j]});
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const auto random = support::random_problem(seed);
        CHECK(result(planner, random.problem(), {{option.name, option.standard}}) ==
              result(planner, random.problem(), {}));
      }
      // First what was made for them, then random problems; from here on rare differences come soonest,
      // though any seeds would do.
      if (option.name == "part") tell_apart(planner, option, many.problem(), alike);
      if (option.name == "colocated") tell_apart(planner, option, towers.problem(), alike);
      for (const auto& problem : {tokens.problem(), cores.problem(), mixture.problem()})
        if (!alike.empty()) tell_apart(planner, option, problem, alike);
      for (std::uint64_t seed = 290; seed < 690 && !alike.empty(); ++seed)
        tell_apart(planner, option, support::random_problem(seed).problem(), alike);
      for (const auto& [a, b] : alike) FAIL_CHECK(a << " and " << b << " do the same");
    }
}
