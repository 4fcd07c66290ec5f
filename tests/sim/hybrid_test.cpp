// Plans of hybrid decoders: linear attention and state spaces, beside or instead of attention, at random against
// the verifier and the bounds.

#include <doctest/doctest.h>

#include "models/delta_net.hpp"
#include "models/selective_scan.hpp"
#include "models/state_space.hpp"
#include "penstock/core/random.hpp"
#include "penstock/score/validate.hpp"
#include "support/judged_plan.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Random;
using models::Layers;
using models::Tensor;

namespace {

constexpr std::int64_t kTokens = 16;

Tensor mixed(Layers& net, const std::string& name, const Tensor& x, int which) {
  if (which == 0)
    return models::delta_net(net, name, x,
                             {.key_heads = 2, .value_heads = 4, .key_width = 4, .value_width = 4, .chunk = 8});
  if (which == 1)
    return models::state_space(net, name, x,
                               {.heads = 4, .head_width = 4, .groups = 1, .state = 3, .chunk = 8});
  if (which == 2)
    return models::selective_scan(net, name, x,
                                  {.channels = 16, .state = 2, .step_rank = 3, .chunk = 8, .norms = true});
  return net.attention(name + ".attention", x, x, x, 4);
}

/// Layers of a norm, one of four mixers, and a sum.
graph::OpGraph hybrid(Random& random, int layers) {
  Layers net("hybrid");
  Tensor x = net.linear("embedding", net.input("tokens", {kTokens, 16}), 16);
  for (int i = 0; i < layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    x = net.add(name + ".add", {x, mixed(net, name, net.rms_norm(name + ".norm", x), random.between(0, 3))});
  }
  return net.build();
}

plan::Plan random_hybrid_plan(const graph::OpGraph& graph, Random& random, std::size_t& devices) {
  plan::Plan out;
  const int stages = random.between(1, 3), replicas = 1 << random.between(0, 1);
  out.training.mini_batch = 8;
  std::size_t first = 0;
  devices = 0;
  for (int s = 0; s < stages; ++s) {
    const std::size_t last =
        s + 1 == stages ? graph.size() : graph.size() * static_cast<std::size_t>(s + 1) / stages;
    plan::Stage each = support::stage_of(first, last, 0, 4);
    each.tensor_parallel = 1 << random.between(0, 2);
    for (std::int64_t d = 0; d < each.replica_size() * replicas; ++d) each.devices.emplace_back(devices++);
    each.zero = random.chance(0.5) ? random.between(1, 3) : 0;
    each.sequence_parallel = each.tensor_parallel > 1 && random.chance(0.5);
    if (random.chance(0.3)) each.recompute = plan::kRecomputeStage;
    out.stages.push_back(each);
    first = last;
  }
  return out;
}

}  // namespace

TEST_CASE("random plans of hybrid decoders: no violation, and nothing below a bound") {
  int divided = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed ", seed);
    Random random(seed);
    const graph::OpGraph graph = hybrid(random, random.between(1, 4));
    std::size_t devices = 0;
    const plan::Plan plan = random_hybrid_plan(graph, random, devices);
    for (const plan::Stage& stage : plan.stages) divided += stage.tensor_parallel > 1;
    support::judge_somewhere(graph, plan, devices, random);
  }
  CHECK(divided > 30);
}
