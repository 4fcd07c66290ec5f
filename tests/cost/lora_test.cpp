// Times and memory of adapters beside frozen weights.

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "models/catalogue.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/calibrated.hpp"
#include "penstock/cost/curve_costs.hpp"
#include "penstock/cost/launches.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/cost/training_state.hpp"
#include "penstock/graph/adapters.hpp"
#include "support/small_calibration.hpp"

using namespace penstock;
using core::Bytes;
using core::OpId;
using core::Seconds;

namespace {

constexpr std::int64_t kTokens = 4096, kHidden = 8192, kWidth = 28'672, kRank = 16;

graph::OpGraph llama(const std::string& lora, const std::string& products = "stored") {
  return models::build("llama", {{"layers", "2"},
                                 {"hidden", std::to_string(kHidden)},
                                 {"heads", "64"},
                                 {"kv_heads", "8"},
                                 {"feed_forward", std::to_string(kWidth)},
                                 {"sequence", std::to_string(kTokens)},
                                 {"vocabulary", "32000"},
                                 {"loss", "yes"},
                                 {"attention", "flash"},
                                 {"element_bytes", "2"},
                                 {"products", products},
                                 {"lora", lora}});
}

OpId named(const graph::OpGraph& graph, std::string_view name) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).name == name) return OpId(v);
  FAIL("no such operator");
  return {};
}

plan::MemoryByKind memory(const graph::OpGraph& graph) {
  const cluster::Cluster cluster = cluster::load_cluster("8xH100");
  const cost::CurveCosts curves;
  plan::Training training{1, plan::Optimizer::adam};
  training.precision = plan::mixed_precision("mixed_bf16");
  const cost::Problem problem{graph, cluster, curves, training};
  std::vector<OpId> all;
  for (std::size_t v = 0; v < graph.size(); ++v) all.emplace_back(v);
  return cost::stage_memory(cost::stage_load(problem, all), {}, training, 1, 1);
}

struct DirectionTimes {
  Seconds forward, backward;
};

DirectionTimes sum(const cost::CostModel& costs, const graph::OpGraph& graph) {
  const cluster::DeviceType device = cluster::load_cluster("8xH100").types().front();
  DirectionTimes out;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const cost::OpTime time = costs.op_time(graph, OpId(v), device, 1);
    out.forward += time.forward;
    out.backward += time.input_gradient + time.weight_gradient;
  }
  return out;
}

}  // namespace

TEST_CASE("only adapters have gradients and optimizer state") {
  const graph::OpGraph tuned = llama("rank=16");
  // Query, key and value; output.
  const std::int64_t numbers = 2 * kRank * (kHidden + kHidden + 2 * 1024 + kHidden + kHidden);
  REQUIRE(tuned.parameters() == numbers);
  const plan::MemoryByKind at_once = memory(tuned);
  CHECK(at(at_once, plan::MemoryKind::weights) == Bytes(2 * (numbers + tuned.frozen_parameters())));
  CHECK(at(at_once, plan::MemoryKind::gradients) == Bytes(4 * numbers));
  CHECK(at(at_once, plan::MemoryKind::optimizer) == Bytes(12 * numbers));
  const plan::MemoryByKind narrow = memory(llama("rank=16,frozen=4"));
  const std::int64_t layers = 2 * (kHidden * (2 * kHidden + 2 * 1024) + 3 * kHidden * kWidth);
  CHECK(at(at_once, plan::MemoryKind::weights) - at(narrow, plan::MemoryKind::weights) ==
        Bytes(2 * layers - layers / 2 - layers / 64 - layers / 4096));
  // The widened matrix of gate and up, while its input gradient is made.
  CHECK(at(narrow, plan::MemoryKind::workspace) - at(at_once, plan::MemoryKind::workspace) <=
        Bytes(2 * kHidden * 2 * kWidth));
  CHECK(at(narrow, plan::MemoryKind::workspace) > at(at_once, plan::MemoryKind::workspace));
}

TEST_CASE("a frozen layer has no weight gradient, and attention that of its adapters") {
  const cost::AnalyticCosts analytic;
  const cost::CurveCosts curves;
  const cost::CostModel* const all[] = {&analytic, &curves};
  const cluster::DeviceType device = cluster::load_cluster("8xH100").types().front();
  const graph::OpGraph whole = llama("off"), tuned = llama("rank=16");
  for (const cost::CostModel* costs : all) {
    const auto time = [&](const graph::OpGraph& graph, const char* name) {
      return costs->op_time(graph, named(graph, name), device, 1);
    };
    const cost::OpTime down = time(tuned, "layer1.down"), before = time(whole, "layer1.down");
    CHECK(down.forward == before.forward);
    CHECK(down.input_gradient == before.input_gradient);
    CHECK(down.weight_gradient == Seconds(0));
    const cost::OpTime adapted = time(tuned, "layer1.attention"), full = time(whole, "layer1.attention");
    // Thin products stream: each reads or writes every row a few times (scale, sum), at 3.35 TB/s or less.
    const double out = kHidden + 2 * 1024 + kHidden, in = 2 * kHidden, rows = 2.0 * kTokens / 3.35e12;
    CHECK((adapted.forward - full.forward).value() > rows * (in + 6 * out));
    CHECK((adapted.forward - full.forward).value() < 2 * rows * (in + 6 * out) + 16 * 10e-6);
    CHECK(adapted.input_gradient - full.input_gradient > Seconds(rows * (3 * out + 4 * in)));
    CHECK(adapted.weight_gradient < full.weight_gradient * 0.3);
  }
}

// One more read of half a byte and a write of two for every weight of a layer, forward and backward.
TEST_CASE("weights in 4 bits are widened before every product; products in 8 bits read theirs") {
  const cost::AnalyticCosts analytic;
  const DirectionTimes whole = sum(analytic, llama("rank=16")),
                       narrow = sum(analytic, llama("rank=16,frozen=4"));
  const double layers = 2 * (kHidden * (2.0 * kHidden + 2 * 1024) + 3.0 * kHidden * kWidth);
  const double moved = layers * (2 + 0.5 + 1.0 / 64 + 1.0 / 4096) / 3.35e12;
  for (const Seconds more : {narrow.forward - whole.forward, narrow.backward - whole.backward}) {
    CHECK(more.value() > moved);
    CHECK(more.value() < moved / 0.6 + 8 * 10e-6);
  }
  const DirectionTimes eight = sum(analytic, llama("rank=16,frozen=8", "fp8_delayed")),
                       stored = sum(analytic, llama("rank=16", "fp8_delayed"));
  CHECK(eight.forward == stored.forward);
  CHECK(eight.backward == stored.backward);
}

TEST_CASE("adapters launch four kernels forward, four for their inputs, two for their weights") {
  const graph::OpGraph whole = llama("off"), tuned = llama("rank=16,targets=all,frozen=4");
  const auto more = [&](const char* name) {
    const cost::LaunchCounts before = cost::launches(whole, named(whole, name), 4),
                             after = cost::launches(tuned, named(tuned, name), 4);
    return std::array{after.forward - before.forward, after.input_gradient - before.input_gradient,
                      after.weight_gradient};
  };
  CHECK(more("layer1.down") == std::array{5, 5, 2});
  CHECK(more("layer1.attention") == std::array{10, 10, 4});
}

TEST_CASE("costs that were measured without adapters refuse them by name") {
  const cost::CalibratedCosts measured(support::full_calibration());
  const cluster::DeviceType device = cluster::load_cluster("8xH100").types().front();
  for (const char* lora : {"rank=16", "rank=16,targets=mlp,frozen=4"}) {
    const graph::OpGraph graph = llama(lora);
    CHECK_THROWS_WITH_AS(measured.op_time(graph, named(graph, "layer0.attention"), device, 1),
                         doctest::Contains("holds no adapters and no frozen weights in 8 or 4 bits"),
                         core::BadInput);
  }
}

TEST_CASE("checkpoints of a training with 4-bit weights are as small as these") {
  const cluster::Cluster cluster = cluster::load_cluster("8xH100");
  const cost::CurveCosts curves;
  const graph::OpGraph graph = llama("rank=16,frozen=4");
  plan::Training training{1, plan::Optimizer::adam};
  training.precision = plan::mixed_precision("mixed_bf16");
  Bytes frozen;
  for (std::size_t v = 0; v < graph.size(); ++v) frozen += graph.frozen_bytes(OpId(v));
  CHECK(cost::checkpoint_bytes({graph, cluster, curves, training}) ==
        frozen + Bytes(14 * graph.parameters()));
}
