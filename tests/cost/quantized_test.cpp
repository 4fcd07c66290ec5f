// Times and memory of layers that multiply in 8 or 4 bits.

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "models/catalogue.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/calibrated.hpp"
#include "penstock/cost/curve_costs.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/near.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using core::OpId;
using support::near;

namespace {

constexpr std::int64_t kTokens = 4096, kHidden = 8192, kWidth = 28'672;

graph::OpGraph llama(const std::string& products, const std::map<std::string, std::string>& more = {}) {
  std::map<std::string, std::string> parameters = {{"layers", "1"},
                                                   {"hidden", std::to_string(kHidden)},
                                                   {"heads", "64"},
                                                   {"kv_heads", "64"},
                                                   {"feed_forward", std::to_string(kWidth)},
                                                   {"sequence", std::to_string(kTokens)},
                                                   {"vocabulary", "32000"},
                                                   {"loss", "yes"},
                                                   {"attention", "flash"},
                                                   {"element_bytes", "2"},
                                                   {"products", products}};
  for (const auto& [name, value] : more) parameters[name] = value;
  return models::build("llama", parameters);
}

/// The feed-forward's last layer: kWidth to kHidden.
OpId last_layer(const graph::OpGraph& graph) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (const auto& l = as<graph::Linear>(graph.op(OpId(v))); l.in == kWidth && l.out == kHidden)
      return OpId(v);
  FAIL("no such layer");
  return {};
}

OpId attention(const graph::OpGraph& graph) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).kind == graph::OpKind::attention) return OpId(v);
  FAIL("no attention");
  return {};
}

cluster::DeviceType type(const std::string& cluster) {
  return cluster::load_cluster(cluster).types().front();
}

plan::Training training(const std::string& precision, std::int64_t mini_batch = 1) {
  plan::Training out{mini_batch, plan::Optimizer::adam};
  out.precision = plan::mixed_precision(precision);
  return out;
}

struct Recipe {
  const char* name;
  const char* cluster;
  double speed;  ///< rate over the 16-bit one, by data sheets
  double bytes;  ///< moved by the cast of a number
};
// A cast reads two bytes, twice where the largest magnitude comes first, and writes two copies.
constexpr Recipe kRecipes[] = {{"fp8_delayed", "8xH100", 1979.0 / 989, 2 + 2.0},
                               {"fp8_current", "8xH100", 1979.0 / 989, 4 + 2.0},
                               {"fp8_block", "8xH100", 1979.0 / 989, 2 + 2 * 1.03125},
                               {"mxfp8", "8xB200", 2, 2 + 2 * 1.03125},
                               {"nvfp4", "8xB200", 4, 4 + 2 * 0.5625}};

}  // namespace

TEST_CASE("large products are as much faster as the device's rate, after casts of what they read") {
  for (const Recipe& recipe : kRecipes) {
    CAPTURE(std::string(recipe.name));
    const cluster::DeviceType device = type(recipe.cluster);
    const graph::OpGraph half = llama("stored"), narrow = llama(recipe.name);
    const OpId layer = last_layer(half);
    const cost::AnalyticCosts analytic;
    const cost::CurveCosts curves;
    const cost::CostModel* const all[] = {&analytic, &curves};
    for (const cost::CostModel* costs : all) {
      const cost::OpTime slow = costs->op_time(half, layer, device, 2),
                         fast = costs->op_time(narrow, layer, device, 2);
      // Streaming runs at 60 to 100 % of the data sheet's bandwidth; two launches of at most 30 us.
      const auto check = [&](core::Seconds before, core::Seconds after, double cast_numbers) {
        const double product = before.value() / recipe.speed,
                     cast = recipe.bytes * 2 * cast_numbers / device.memory_bandwidth.value();
        CHECK(after.value() > product * 0.99 + cast);
        CHECK(after.value() < product * 1.01 + cast / 0.6 + 60e-6);
      };
      check(slow.forward, fast.forward, kTokens * kWidth);
      check(slow.input_gradient, fast.input_gradient, kTokens * kHidden);
      check(slow.weight_gradient, fast.weight_gradient, 0);
    }
  }
}

TEST_CASE("attention's core keeps its time") {
  const cost::CurveCosts curves;
  const cluster::DeviceType device = type("8xB200");
  const graph::OpGraph half = llama("stored"), narrow = llama("nvfp4");
  const OpId id = attention(half);
  CHECK(curves.core_forward(half, id, device, 1, {}) == curves.core_forward(narrow, id, device, 1, {}));
  const core::Seconds core = curves.core_forward(half, id, device, 1, {});
  CHECK(curves.op_time(narrow, id, device, 1).forward > core);
  CHECK(curves.op_time(narrow, id, device, 1).forward < curves.op_time(half, id, device, 1).forward);
}

TEST_CASE("a device holds 16-bit weights, two copies of layers in the format, and fewer activations") {
  const cluster::Cluster cluster = cluster::load_cluster("8xB200");
  const cost::CurveCosts curves;
  const auto memory = [&](const graph::OpGraph& graph, const std::string& precision) {
    const cost::Problem problem{graph, cluster, curves, training(precision)};
    std::vector<OpId> all;
    for (std::size_t v = 0; v < graph.size(); ++v) all.emplace_back(v);
    return cost::stage_memory(cost::stage_load(problem, all), {}, problem.training, 1, 1);
  };
  const graph::OpGraph half = llama("stored"), narrow = llama("mxfp8");
  const auto before = memory(half, "mixed_bf16"), after = memory(narrow, "mxfp8");
  const auto more = [&](plan::MemoryKind kind) { return (at(after, kind) - at(before, kind)).value(); };
  const std::int64_t layer = 4 * kHidden * kHidden + 3 * kHidden * kWidth;
  CHECK(more(plan::MemoryKind::weights) == 2 * layer * 33 / 32);
  CHECK(more(plan::MemoryKind::gradients) == 0);
  CHECK(more(plan::MemoryKind::optimizer) == 0);
  CHECK(more(plan::MemoryKind::activations) ==
        kTokens * ((2 * kHidden + kWidth) * (33 - 64) + kHidden * 33) / 32);
}

TEST_CASE("devices without the rate, and costs that hold no such products, are refused by name") {
  const auto violation = [](const char* cluster, const char* precision) {
    return plan::products_violation(cluster::load_cluster(cluster), training(precision)).value_or("");
  };
  CHECK(violation("8xA100-80", "fp8_current") ==
        "fp8_current multiplies at an fp8 rate, and a100 states none (peak: {fp8: ...})");
  CHECK(violation("8xH100", "nvfp4").find("and h100 states none") != std::string::npos);
  CHECK(violation("8xH100", "mxfp8").find("an fp4 rate have (Blackwell); h100 states none") !=
        std::string::npos);
  CHECK(violation("8xH100", "fp8_block").empty());
  CHECK(violation("8xB200", "nvfp4").empty());
  CHECK(violation("8xA100-80", "mixed_bf16").empty());
  const cost::CalibratedCosts measured(support::full_calibration());
  const graph::OpGraph graph = llama("fp8_delayed");
  CHECK_THROWS_WITH_AS(measured.op_time(graph, last_layer(graph), type("8xH100"), 1),
                       doctest::Contains("holds no products in fp8_delayed"), core::BadInput);
}

TEST_CASE("the model and the training state one format of products") {
  const auto violation = [](const char* products, const char* precision) {
    return plan::precision_violation(llama(products), training(precision)).value_or("");
  };
  CHECK(violation("mxfp8", "mxfp8").empty());
  CHECK(violation("stored", "mxfp8") ==
        "the training multiplies in mxfp8, the model's layers in the stored numbers");
  CHECK(violation("nvfp4", "mixed_bf16") ==
        "the training multiplies in the stored numbers, the model's layers in nvfp4");
}

// At most 1: a run that multiplies at the rates of the data sheet.
TEST_CASE("MFU counts FLOPs of layers at the rate of their format, others at the 16-bit rate") {
  const cluster::Cluster cluster = cluster::load_cluster("8xB200");
  const double layers = 6.0 * kTokens * (4 * kHidden * kHidden + 3 * kHidden * kWidth);
  const double all = graph::training_flops(llama("stored")).value();
  const double seconds = (layers / 9e15 + (all - layers) / 2.25e15) / 8;
  CHECK(cost::utilisation(llama("nvfp4"), cluster, 1 / seconds).mfu == near(1.0, 1e-9));
  CHECK(cost::utilisation(llama("stored"), cluster, 8 * 2.25e15 / all).mfu == near(1.0, 1e-9));
}

TEST_CASE("bounds of random problems stay below what planners' plans take") {
  core::Random random(63);
  const cost::CurveCosts curves;
  for (int trial = 0; trial < 24; ++trial) {
    const Recipe& recipe = kRecipes[static_cast<std::size_t>(random.between(0, 4))];
    CAPTURE(trial);
    CAPTURE(std::string(recipe.name));
    const graph::OpGraph graph =
        llama(recipe.name, {{"layers", std::to_string(random.between(2, 6))},
                            {"hidden", std::to_string(512 * random.between(1, 4))},
                            {"heads", "8"},
                            {"kv_heads", "8"},
                            {"feed_forward", std::to_string(1024 * random.between(1, 6))},
                            {"sequence", std::to_string(256 * random.between(1, 4))}});
    const cluster::Cluster cluster =
        curves.completed(cluster::load_cluster(recipe.cluster).first(random.between(1, 4)));
    const cost::Problem problem{graph, cluster, curves, training(recipe.name, 8 * random.between(1, 3))};
    for (const auto& planner : planners::catalogue()) {
      if (planner.name != "pipedream" && planner.name != "dapple" && planner.name != "megatron") continue;
      CAPTURE(planner.name);
      const plan::Plan plan = planner.plan(problem, {}, {}).plan;
      const double time = to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan))).value();
      const auto bounds =
          score::problem_bounds(problem, score::ReductionTiming::closed_form, score::family_of(plan));
      CHECK(bounds.holds_for(plan).time.value() <= time * (1 + 1e-9));
      CHECK(plan::structural_violations(graph, cluster, plan).empty());
    }
  }
}
