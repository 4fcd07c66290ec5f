#include "random_training.hpp"

#include "models/layers.hpp"
#include "penstock/core/random.hpp"

namespace penstock::replay::test {
namespace {

using core::OpId;
using graph::OpKind;
using plan::Partition;

/// `freezing`: drawn for every layer, where some are to be frozen.
graph::OpGraph random_model(core::Random& random, core::Random* freezing, std::int64_t tokens) {
  using models::Activation;
  models::Layers net("random");
  const auto freeze = [&] { net.freeze(freezing != nullptr && freezing->chance(0.5)); };
  freeze();
  auto x = random.chance(0.5) ? net.embedding("table", net.indices("rows", tokens), {11, 6, false})
                              : net.input("x", {tokens, 6});
  std::vector<models::Tensor> made = {x};
  for (int i = 0; i < 6; ++i) {
    const std::string name = std::to_string(i);
    const Activation functions[] = {Activation::none, Activation::sigmoid, Activation::tanh,
                                    Activation::gelu};
    const Activation function = functions[random.between(0, 3)];
    freeze();
    switch (random.between(0, 5)) {
      case 0:
        x = net.attention("attention" + name, x, x, x, 6);
        break;
      case 1:
        x = net.layer_norm("norm" + name, x);
        break;
      case 2:
        std::erase_if(made, [&](const models::Tensor& one) { return net.spent(one); });
        x = net.add(
            "sum" + name,
            {x, made[static_cast<std::size_t>(random.between(0, static_cast<int>(made.size()) - 1))]});
        break;
      case 3:
        x = net.activation("function" + name, x, Activation::gelu);
        break;
      default:
        x = net.linear("wide" + name, x, 7, {.bias = random.chance(0.5), .fused = function});
        x = net.linear("narrow" + name, x, 6, {.bias = random.chance(0.5), .fused = function});
    }
    made.push_back(x);
  }
  net.freeze(false);
  return net.linear("last", x, 4, {}), net.build();
}

void divide_at_random(CutModel& model, core::Random& random) {
  for (plan::Stage& stage : model.plan.stages) {
    if (random.chance(0.3)) stage.shares = {2, 3, 2};
    stage.shares.resize(stage.shares.empty() ? 0 : static_cast<std::size_t>(stage.tensor_parallel));
    for (const OpId id : stage.operators) {
      const OpKind kind = model.graph.op(id).kind;
      const bool by_row = kind == OpKind::norm;
      if (by_row || random.chance(0.7))
        stage.partition[id] = static_cast<Partition>(random.between(0, by_row ? 1 : 3));
    }
  }
}

}  // namespace

CutModel random_training(std::uint64_t seed, bool frozen) {
  core::Random random(seed), freezing(~seed);
  const graph::OpGraph graph = random_model(random, frozen ? &freezing : nullptr, 5);
  CutSetting cut{.rank = {0, 1}, .mini_batch = 24, .micro_batch = 12};
  cut.schedule = random.chance(0.5) ? "1f1b" : "zb_h1";
  cut.tensor_parallel = random.between(2, 3);
  cut.replicas = static_cast<std::size_t>(random.between(1, 2));
  if (random.chance(0.3)) cut.recompute = plan::kRecomputeStage;
  CutModel model = cut_model(graph, cut);
  divide_at_random(model, random);
  return model;
}

CutModel random_context_training(std::uint64_t seed) {
  core::Random random(seed);
  const graph::OpGraph graph = random_model(random, nullptr, 6);
  CutSetting cut{.rank = {0, 1}, .mini_batch = 24, .micro_batch = 12};
  cut.schedule = random.chance(0.5) ? "1f1b" : "zb_h1";
  cut.context_parallel = random.between(2, 3);
  cut.exchange = static_cast<plan::ContextExchange>(random.between(0, 2));
  cut.replicas = static_cast<std::size_t>(random.between(1, 2));
  if (random.chance(0.3)) cut.recompute = plan::kRecomputeStage;
  return cut_model(graph, cut);
}

}  // namespace penstock::replay::test
