// Plans that joint finds train as one device does, whatever it makes of them.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "candidates.hpp"
#include "check_training.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using replay::test::CutModel;

namespace {

using Given = std::map<std::string, std::string>;

/// Sequences so long that activations take more than weights. Norms divided by features are not replayed, so
/// bert's operators stay whole.
const std::map<std::string, Given> kModels = {
    {"transformer", {{"layers", "4"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "24"}}},
    {"mmt", {{"branches", "2"}, {"layers", "2"}, {"hidden", "8"}, {"heads", "4"}, {"sequence", "24"}}},
    {"bert",
     {{"vocabulary", "13"},
      {"layers", "2"},
      {"hidden", "8"},
      {"heads", "4"},
      {"sequence", "24"},
      {"positions", "24"}}}};

/// Options without plans that a replay cannot run, as in experiments/validation_host_joint.yaml.
planners::OwnOptions replayed() {
  return {{"max_zero", "0"},
          {"sequence_parallel", "never"},
          {"recompute", "layers"},
          {"evaluations", "400"},
          {"starts", "direct"}};
}

/// Eight samples; every pass of an operator takes 0.2 ms and 1 ms per sample.
CutModel problem_of(const std::string& model, std::size_t devices, std::int64_t memory) {
  graph::OpGraph graph = models::build(model, kModels.at(model));
  support::LaunchCosts costs(std::vector<support::LaunchCosts::PassTime>(graph.size(), {2e-4, 1e-3}));
  CutModel out{std::move(graph), support::tiny_cluster(devices, memory, 1e7, 1e-5), std::move(costs), {}};
  out.plan.training = {8, plan::Optimizer::momentum, {}};
  return out;
}

/// Nothing where no plan fits.
std::optional<CutModel> found(CutModel in, const char* largest_group) {
  const cost::Problem problem = in.problem();
  planners::SearchOptions options;
  options.own = replayed();
  options.own["max_tensor_parallel"] = largest_group;
  options.evaluate = [&](const plan::Plan& plan) {
    return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan)));
  };
  try {
    in.plan = planners::planner("joint").plan(problem, options, {}).plan;
  } catch (const core::Infeasible&) {
    return std::nullopt;
  }
  in.cluster = support::tiny_cluster(in.cluster.size());  // for workspaces of kernels, which these costs lack
  return in;
}

struct PlanKinds {
  int divided = 0, shared_devices = 0, recomputed = 0;
  std::set<std::string> schedules{};

  void count(const plan::Plan& plan) {
    schedules.insert(plan.schedule);
    const auto any = [&](auto&& has) { return std::ranges::any_of(plan.stages, has); };
    divided += any([](const plan::Stage& stage) { return stage.tensor_parallel > 1; });
    recomputed += any([](const plan::Stage& stage) { return static_cast<bool>(stage.recompute); });
    const auto rank = plan::rank_of_stage(plan);
    shared_devices += std::set(rank.begin(), rank.end()).size() < rank.size();
  }
};

/// With ample memory, and with less than the plan takes that it then finds.
void check(const std::string& model, std::size_t devices, const char* largest_group, PlanKinds& kinds) {
  CAPTURE(model);
  CAPTURE(devices);
  CAPTURE(largest_group);
  auto ample = found(problem_of(model, devices, std::int64_t{1} << 40), largest_group);
  REQUIRE(ample.has_value());
  const auto need = static_cast<double>(planners::fullest_need(ample->problem(), ample->plan).value());
  for (const double share : {1.0, 0.5, 0.3, 0.2, 0.15}) {
    CAPTURE(share);
    const auto memory = static_cast<std::int64_t>(need * share);
    const auto within = share == 1 ? ample : found(problem_of(model, devices, memory), largest_group);
    if (!within) continue;
    kinds.count(within->plan);
    replay::test::check_training(*within, {.at_once = 8, .most = 1e-4, .last_bits = 10});
  }
}

}  // namespace

TEST_CASE("plans of joint train as one device does: divided, several stages on a device, recomputed") {
  PlanKinds kinds;
  for (const auto& [model, parameters] : kModels)
    for (const std::size_t devices : {2, 4})
      for (const char* largest_group : {"0", "1"})
        if (model != "bert" || largest_group == std::string("1")) check(model, devices, largest_group, kinds);
  MESSAGE(fmt::format("{} divided, {} with several stages on a device, {} recomputed, {} schedules",
                      kinds.divided, kinds.shared_devices, kinds.recomputed, kinds.schedules.size()));
  CHECK(kinds.divided >= 10);
  CHECK(kinds.shared_devices >= 10);
  CHECK(kinds.recomputed >= 5);
  CHECK(kinds.schedules.size() >= 5);
}
