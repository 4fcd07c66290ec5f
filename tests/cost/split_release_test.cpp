// Memory that a framework holds between an input gradient and its weight gradient.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/cluster/runtime.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/sharding.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;

namespace {

constexpr std::int64_t kTokens = 1024, kHidden = 2048, kVocabulary = 1000;

const cost::AnalyticCosts kCosts;

graph::OpGraph gpt(const std::string& loss = "no") {
  return models::build("gpt", {{"layers", "3"},
                               {"hidden", std::to_string(kHidden)},
                               {"heads", "16"},
                               {"sequence", std::to_string(kTokens)},
                               {"positions", std::to_string(kTokens)},
                               {"vocabulary", std::to_string(kVocabulary)},
                               {"attention", "flash"},
                               {"dropout", "yes"},
                               {"element_bytes", "2"},
                               {"loss", loss}});
}

/// The stage of all operators whose name begins so, on `devices` of a tensor-parallel group.
plan::Stage stage_of(const graph::OpGraph& graph, const std::string& begins, int devices = 1) {
  plan::Stage stage;
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(core::OpId(v)).name.starts_with(begins)) stage.operators.emplace_back(v);
  for (int d = 0; d < devices; ++d) stage.devices.emplace_back(static_cast<std::size_t>(d));
  stage.tensor_parallel = devices;
  stage.sequence_parallel = devices > 1;
  return stage;
}

cost::StageLoad load_of(const graph::OpGraph& graph, const plan::Stage& stage, const char* framework) {
  const auto cluster = support::tiny_cluster(2).run_by(cluster::runtime(framework));
  return cost::stage_load({graph, cluster, kCosts, {}}, stage);
}

/// Bytes per token and hidden unit.
double each(Bytes bytes, int devices = 1) {
  return static_cast<double>(bytes.value()) * devices / (kTokens * kHidden);
}

}  // namespace

TEST_CASE("Megatron-LM's layer holds 34 bytes per token and hidden unit, then 32 for its weight gradients") {
  // Qi et al. 2024, section 3.1. Flash attention adds 4 bytes per token and head, each norm 4 per token.
  constexpr double kStatistics = (4.0 * 16 + 2 * 4) / kHidden;
  const auto graph = gpt();
  for (const int devices : {1, 2}) {
    CAPTURE(devices);
    const auto load = load_of(graph, stage_of(graph, "layer1.", devices), "megatron");
    CHECK(each(load.activations, devices) == support::near(34 + kStatistics, 1e-9));
    const Bytes left = load.activations + load.inputs - load.released;
    CHECK(each(left, devices) == support::near(14, 1e-9));
    CHECK(each(load.deferred.at(1), devices) == support::near(18, 1e-9));
  }
}

TEST_CASE("torch holds all that a layer saved, and gradients of norms too") {
  const auto graph = gpt();
  const auto load = load_of(graph, stage_of(graph, "layer1."), "automodel");
  CHECK(load.released == Bytes(0));
  // With the gradients of two norms' outputs, and their weights' gradients: 8 bytes per hidden unit.
  CHECK(each(load.deferred.at(1)) == support::near(18 + 2 * 2 + 8.0 / kTokens, 1e-9));
}

TEST_CASE("every framework lets go of what the loss saved") {
  const auto graph = gpt("yes"), plain = gpt();
  const auto with = load_of(graph, stage_of(graph, ""), "automodel"),
             without = load_of(plain, stage_of(plain, ""), "automodel");
  CHECK(with.released == Bytes(2 * kTokens * kVocabulary));
  CHECK(with.activations - with.released == without.activations);
  CHECK(with.deferred == without.deferred);
  const auto both = load_of(graph, stage_of(graph, ""), "megatron");
  CHECK(both.released > with.released);
}

TEST_CASE("a core that is computed again is released once") {
  const auto graph = gpt();
  plan::Stage stage = stage_of(graph, "layer1.");
  stage.recompute = plan::kRecomputeCore;
  const auto load = load_of(graph, stage, "megatron"),
             whole = load_of(graph, stage_of(graph, "layer1."), "megatron");
  CHECK(load.activations + load.saved == whole.activations);
  CHECK(load.released + load.activations == whole.released);
}
