// Attention's cores that are computed again: Korthikanti's closed form, time by hand, and random plans
// against the verifier and the bounds.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/check/trace_violations.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/host.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/graph/attention_core.hpp"
#include "penstock/plan/strategy.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using plan::MemoryKind;

namespace {

constexpr std::int64_t kHidden = 64, kHeads = 4, kTokens = 48;

graph::OpGraph gpt(const std::string& attention, int layers = 4, const std::string& dropout = "no") {
  return models::build("gpt", {{"layers", std::to_string(layers)},
                               {"hidden", std::to_string(kHidden)},
                               {"heads", std::to_string(kHeads)},
                               {"sequence", std::to_string(kTokens)},
                               {"vocabulary", "96"},
                               {"element_bytes", "2"},
                               {"attention", attention},
                               {"dropout", dropout}});
}

/// All of a model on one device.
plan::Stage whole(const graph::OpGraph& graph, const plan::Recomputation& what) {
  plan::Stage out;
  for (std::size_t i = 0; i < graph.size(); ++i) out.operators.emplace_back(i);
  out.devices = {DeviceId(0)};
  out.recompute = what;
  return out;
}

const cost::AnalyticCosts kCosts;

/// Bytes that a layer saves from its forward pass on, per sample.
std::int64_t saved_by_layer(const std::string& attention, const plan::Recomputation& what,
                            const std::string& dropout = "no") {
  const auto cluster = support::tiny_cluster(1);
  std::int64_t by_depth[2];
  for (const int deeper : {0, 1}) {
    const auto graph = gpt(attention, 2 + deeper, dropout);
    const cost::StageLoad load = cost::stage_load({graph, cluster, kCosts, {}}, whole(graph, what));
    by_depth[deeper] = (what ? load.saved : load.activations).value();
  }
  return by_depth[1] - by_depth[0];
}

}  // namespace

TEST_CASE("a layer saves the bytes of Korthikanti's table, with dropout and without") {
  // The table of section 4.1, in bytes with h = hidden, a = heads, s = tokens: s h (34 + 5 a s / h). Without
  // dropout some terms are missing: its masks after attention and feed-forward, s h each. The mask of the
  // scores, a s s, and the shares after it, 2 a s s, are missing too. Inputs of the norms are outputs of the layers' last
  // products here. Norms keep, beside their outputs, mean and deviation of each token, which the table leaves
  // out as small.
  const std::int64_t sh = kTokens * kHidden, ass = kHeads * kTokens * kTokens;
  const std::int64_t others = sh * (34 - 1 - 1) + 2 * kTokens * 2 * 2;
  CHECK(saved_by_layer("plain", {}) == others + ass * (5 - 1 - 2));
  // Section 5: 34 s h.
  CHECK(saved_by_layer("plain", plan::kRecomputeCore) == others);
  CHECK(saved_by_layer("split", plan::kRecomputeCore) == others);
  CHECK(saved_by_layer("plain", {}, "yes") == others + 2 * sh + 5 * ass);
  CHECK(saved_by_layer("plain", plan::kRecomputeCore, "yes") == others + 2 * sh);
  CHECK(saved_by_layer("flash", {}, "yes") == others + 2 * sh + 4 * kHeads * kTokens);
  // A flash core has 4 bytes for each query and head.
  CHECK(saved_by_layer("flash", {}) == others + 4 * kHeads * kTokens);
  CHECK(saved_by_layer("flash", plan::kRecomputeCore) == others);
}

TEST_CASE("only the core is computed again, and one of them is in memory at a time") {
  const auto cluster = support::tiny_cluster(1);
  for (const char* attention : {"plain", "fused", "flash", "split"}) {
    CAPTURE(attention);
    const auto graph = gpt(attention);
    const cost::Problem problem{graph, cluster, kCosts, {3}};
    const plan::Stage none = whole(graph, {}), core = whole(graph, plan::kRecomputeCore);
    core::Seconds again;
    for (const OpId id : plan::inner_cores(graph, core.operators, core.recompute))
      again += kCosts.core_forward(graph, id, cluster.types()[0], 1, {});
    for (const auto& cores : plan::segments(graph, core.operators, core.recompute))
      for (const OpId id : cores) again += kCosts.op_time(graph, id, cluster.types()[0], 1).forward;
    const auto time = cost::stage_time(problem, core, 1).compute;
    CHECK(again.value() > 0);
    CHECK(time.recompute.value() == support::near(again.value()));
    CHECK(time.forward.value() == support::near(cost::stage_time(problem, none, 1).compute.forward.value()));

    plan::Plan plan;
    plan.training.mini_batch = 3;
    plan.schedule = "gpipe";
    plan.stages = {core};
    score::derive_in_flight(problem, plan);
    const auto trace = sim::simulate(problem, score::scheduled(problem, plan), {});
    const auto load = cost::stage_load(problem, core);
    const auto peak = at(trace::summarise(trace).devices[0].at_peak, MemoryKind::activations);
    CHECK(peak == load.saved * 3 + load.activations);
    CHECK(peak == at(score::stage_memories(problem, plan)[0], MemoryKind::activations));
    CHECK(plan::in_words(plan::strategy(plan, 1)) == "PP1, gpipe, mb 1, recompute selective 1/1");
    // One core of four layers, or scores and shares of a split one (its context is saved).
    const std::int64_t shares = kHeads * kTokens * kTokens * 2;
    CHECK(load.activations.value() == (attention == std::string("flash")   ? 4 * kHeads * kTokens
                                       : attention == std::string("split") ? 2 * shares
                                                                           : shares));
  }
}

TEST_CASE("a small core waits for the host that launches it") {
  const auto cluster = support::tiny_cluster(1).run_by({.per_kernel = core::Seconds(100)});
  for (const auto& [attention, kernels] : {std::pair{"plain", 5}, {"flash", 1}}) {
    const auto graph = gpt(attention);
    const cost::Problem problem{graph, cluster, kCosts, {1}};
    CHECK(cost::stage_time(problem, whole(graph, plan::kRecomputeCore), 1).compute.recompute.value() ==
          support::near(4 * 100 * kernels));
  }
}

TEST_CASE("selective recomputation is refused without attention") {
  const auto cluster = support::tiny_cluster(1);
  const auto graph = gpt("plain"), bare = support::tiny_graph(2, {{0, 1}});
  plan::Plan plan;
  plan.stages = {whole(graph, plan::kRecomputeCore)};
  CHECK(plan::structural_violations(graph, cluster, plan).empty());
  plan.stages = {whole(bare, plan::kRecomputeCore)};
  CHECK(plan::structural_violations(bare, cluster, plan) ==
        std::vector<std::string>{"stage 0 recomputes attention's core and has no attention"});
}

TEST_CASE("where backward passes are split a core is gone before weight gradients, all else is not") {
  const auto cluster = support::tiny_cluster(1);
  for (const char* attention : {"plain", "split"}) {
    CAPTURE(attention);
    const auto graph = gpt(attention);
    const cost::Problem problem{graph, cluster, kCosts, {4}};
    plan::Plan plan;
    plan.training.mini_batch = 4;
    plan.schedule = "zb_h1";
    const auto peak = [&](const plan::Recomputation& how) {
      plan.stages = {whole(graph, how)};
      score::derive_in_flight(problem, plan);
      const auto scheduled = score::scheduled(problem, plan);
      const auto trace = sim::simulate(problem, scheduled, {});
      CHECK(check::trace_violations(problem, scheduled, trace, {}) == std::vector<std::string>{});
      const auto held = at(trace::summarise(trace).devices[0].at_peak, MemoryKind::activations);
      CHECK(held <= at(score::stage_memories(problem, plan)[0], MemoryKind::activations));
      return held;
    };
    const auto load = cost::stage_load(problem, whole(graph, plan::kRecomputeCore));
    // One micro-batch on one device: its core while its deferred gradients come, or both to the end.
    CHECK(peak(plan::kRecomputeCore) == load.saved + load.inputs + load.activations);
    const auto stage = cost::stage_load(problem, whole(graph, plan::kRecomputeStage));
    CHECK(peak(plan::kRecomputeStage) == stage.saved + stage.inputs + stage.activations);
    CHECK(peak(plan::kRecomputeCore) < peak({}));
  }
}

TEST_CASE("random plans that recompute selectively: the verifier agrees, no bound is above them") {
  core::Random random(17);
  int tried = 0, recomputing = 0;
  for (int seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    constexpr const char* kAttention[] = {"plain", "fused", "flash", "split"};
    const auto graph = gpt(kAttention[random.between(0, 3)], random.between(1, 4));
    const int stages = random.between(1, 3), width = 1 << random.between(0, 2);
    const auto cluster =
        support::tiny_cluster(static_cast<std::size_t>(stages * width), std::int64_t{1} << 40,
                              1e6 + 1e9 * random.unit(), random.unit() / 100);
    plan::Plan plan;
    plan.training = {16, plan::Optimizer::adam};
    constexpr const char* kSchedules[] = {"1f1b", "gpipe", "zb_h1", "zb_1p"};
    plan.schedule = kSchedules[random.between(0, 3)];
    for (int s = 0; s < stages; ++s) {
      plan::Stage& stage = plan.stages.emplace_back();
      const std::size_t size = graph.size(), first = static_cast<std::size_t>(s),
                        parts = static_cast<std::size_t>(stages);
      for (std::size_t op = first * size / parts; op < (first + 1) * size / parts; ++op)
        stage.operators.emplace_back(op);
      for (int d = 0; d < width; ++d) stage.devices.emplace_back(static_cast<std::size_t>(s * width + d));
      stage.micro_batch = 4;
      stage.tensor_parallel = 1 << random.between(0, 2);
      if (stage.tensor_parallel > width) stage.tensor_parallel = width;
      stage.sequence_parallel = stage.tensor_parallel > 1 && random.chance(0.5);
      stage.zero = random.between(0, 3);
      if (random.chance(0.7) && plan::applies(graph, stage.operators, plan::kRecomputeCore))
        stage.recompute = plan::kRecomputeCore;
      recomputing += bool(stage.recompute);
    }
    const cost::Problem problem{graph, cluster, kCosts, plan.training};
    if (!plan::structural_violations(graph, cluster, plan).empty()) continue;
    score::derive_in_flight(problem, plan);
    if (!score::violations(problem, plan).empty()) continue;
    ++tried;
    const sim::SimulationOptions options{sim::NetworkModel::fifo};
    const auto scheduled = score::scheduled(problem, plan);
    const auto trace = sim::simulate(problem, scheduled, options);
    CHECK(check::trace_violations(problem, scheduled, trace, options) == std::vector<std::string>{});
    const double seconds = to_seconds(trace.iteration).value();
    CHECK(score::least_iteration(problem, plan, score::Reduction::closed_form).value() <=
          seconds * (1 + 1e-9));
    CHECK(score::bound_for(problem, plan, score::Reduction::closed_form).time.value() <= seconds);
  }
  CHECK(tried >= 100);
  CHECK(recomputing >= 100);
}
