#include "penstock/cost/host.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Seconds;
using support::near;

namespace {

cluster::Cluster two_devices() {
  return cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(2);
}

plan::Stage all_of(const graph::OpGraph& graph, int devices) {
  plan::Stage out;
  for (std::size_t i = 0; i < graph.size(); ++i) out.operators.emplace_back(i);
  for (std::size_t d = 0; d < static_cast<std::size_t>(devices); ++d) out.devices.emplace_back(d);
  return out;
}

}  // namespace

TEST_CASE("a pass lasts as long as the slower of device and host") {
  const cost::OpTime device{Seconds(3), Seconds(2), Seconds(4)};
  const cost::OpTime quick = cost::launched(device, {Seconds(1), Seconds(5), Seconds(1)});
  CHECK(quick.forward == Seconds(3));
  CHECK(quick.input_gradient == Seconds(2));  // both gradients are one backward pass: 6 s of either
  CHECK(quick.weight_gradient == Seconds(4));
  const cost::OpTime slow = cost::launched(device, {Seconds(5), Seconds(6), Seconds(2)});
  CHECK(slow.forward == Seconds(5));
  CHECK(slow.backward().value() == near(8));
  CHECK(slow.input_gradient.value() == near(2 + 2 * 0.75));
}

TEST_CASE(
    "without fusion, norms by root and gated activations take longer, as their kernels move more bytes") {
  const auto graph = models::build(
      "llama",
      {{"layers", "1"}, {"hidden", "64"}, {"heads", "4"}, {"kv_heads", "2"}, {"element_bytes", "2"}});
  const auto plain = two_devices();
  const cost::AnalyticCosts costs;
  const plan::Training training{1, plan::Optimizer::adam};
  const auto times = [&](const char* framework, const std::string& name) {
    cluster::DeviceType type = plain.types().front();
    type.runtime = cluster::runtime(framework);
    type.runtime->per_kernel = Seconds(0);
    for (std::size_t i = 0; i < graph.size(); ++i)
      if (graph.op(core::OpId(i)).name == name)
        return cost::kernel_time({graph, plain, costs, training}, core::OpId(i), type, 1);
    FAIL("no operator " << name);
    return cost::OpTime{};
  };
  const auto longer = [&](const char* name) {
    const cost::OpTime fused = times("megatron", name), not_fused = times("pytorch", name);
    return std::pair{not_fused.forward / fused.forward, not_fused.backward() / fused.backward()};
  };
  CHECK(longer("layer0.norm1").first == near(18.0 / 2));
  CHECK(longer("layer0.norm1").second == near(34.0 / 4));
  CHECK(longer("layer0.swiglu").first == near(5.0 / 3));
  CHECK(longer("layer0.swiglu").second == near(9.0 / 3));
  CHECK(longer("layer0.down").first == near(1));
  CHECK(longer("layer0.attention").second == near(1));
  const auto launched = [&](const char* framework, const char* name) {
    cluster::DeviceType type = plain.types().front();
    type.runtime = cluster::runtime(framework);
    for (std::size_t i = 0; i < graph.size(); ++i)
      if (graph.op(core::OpId(i)).name == name)
        return cost::launch_time(graph, core::OpId(i), type, 1, {}).forward.value();
    return 0.0;
  };
  CHECK(launched("pytorch", "layer0.norm1") == near(7 * launched("megatron", "layer0.norm1")));
  CHECK(launched("torchtitan", "layer0.norm1") == near(launched("megatron", "layer0.norm1")));
  CHECK(times("torchtitan", "layer0.norm1") == times("megatron", "layer0.norm1"));
  CHECK(launched("torchtitan", "layer0.swiglu") == near(2 * launched("megatron", "layer0.swiglu")));
  CHECK(launched("torchtitan", "layer0.down") == near(launched("megatron", "layer0.down")));
}

TEST_CASE("products of all experts are one launch each") {
  const auto experts = [](const char* count) {
    const auto graph = models::build(
        "mixtral",
        {{"layers", "1"}, {"hidden", "64"}, {"heads", "4"}, {"kv_heads", "2"}, {"experts", count}});
    for (std::size_t i = 0; i < graph.size(); ++i)
      if (graph.op(core::OpId(i)).kind == graph::OpKind::experts)
        return cost::launches(graph, core::OpId(i), 4).weight_gradient;
    return 0;
  };
  CHECK(experts("8") == 2);
  CHECK(experts("16") == 2);
}

TEST_CASE("launches are counted by operator; only what is trained has gradients") {
  const auto graph = models::build("gpt", {{"layers", "1"}, {"attention", "plain"}});
  const auto of = [&](const std::string& name) {
    for (std::size_t i = 0; i < graph.size(); ++i)
      if (graph.op(core::OpId(i)).name == name) return cost::launches(graph, core::OpId(i), 4);
    FAIL("no operator " << name);
    return cost::LaunchCounts{};
  };
  CHECK(of("token.input").forward == 11);
  CHECK(of("position.input").forward == 1);
  CHECK(of("token.embedding").forward == 1);
  CHECK(of("token.embedding").input_gradient == 0);  // nothing below it learns
  CHECK(of("token.embedding").weight_gradient == 1);
  CHECK(of("layer0.dense1").weight_gradient == 2);  // and its bias
  CHECK(of("layer0.add1").input_gradient == 0);
  CHECK(of("head").weight_gradient == 1);  // tied, its gradient is computed all the same
  // Llama's attention has no bias; Qwen2's has one for query, key and value, Qwen3's two norms instead.
  const auto llama = [](const char* key) {
    const auto g = models::build(
        "llama", {{"layers", "1"}, {"hidden", "64"}, {"heads", "4"}, {"kv_heads", "2"}, {key, "yes"}});
    std::size_t i = 0;
    while (g.op(core::OpId(i)).kind != graph::OpKind::attention) ++i;
    return cost::launches(g, core::OpId(i), 4);
  };
  const auto bare = llama("tied_head"), biased = llama("qkv_bias"), normed = llama("qk_norm");
  CHECK(biased.forward == bare.forward + 1);
  CHECK(biased.weight_gradient == bare.weight_gradient + 1);
  CHECK(normed.forward == bare.forward + 2);
  CHECK(normed.input_gradient == bare.input_gradient + 2);
  const auto flash = models::build("gpt", {{"layers", "1"}, {"attention", "flash"}});
  const auto total = [](const graph::OpGraph& g) {
    int sum = 0;
    for (std::size_t i = 0; i < g.size(); ++i) sum += cost::launches(g, core::OpId(i), 4).forward;
    return sum;
  };
  CHECK(total(graph) - total(flash) == 7);
  // Dropout is a kernel of its own only in a plain core; sums drop as they add, and going back too.
  const auto dropping = [](const char* how) {
    return models::build("gpt", {{"layers", "1"}, {"attention", how}, {"dropout", "yes"}});
  };
  CHECK(total(dropping("plain")) - total(graph) == 1);
  CHECK(total(dropping("flash")) == total(flash));
  const auto plain = dropping("plain");
  int back = 0, sums = 0;
  for (std::size_t i = 0; i < plain.size(); ++i)
    if (plain.op(core::OpId(i)).kind == graph::OpKind::elementwise)
      ++sums, back += cost::launches(plain, core::OpId(i), 4).input_gradient;
  CHECK(sums == 3);  // the sum of two embeddings drops nothing
  CHECK(back == 2);
}

TEST_CASE("without fusion a Llama layer saves each norm's input in fp32 and the activated gate") {
  // 16-bit numbers, 4 tokens of width 8, 24 between gate and down: norms of 4 bytes with their roots, a gate of
  // 2 bytes.
  const auto graph = models::build("llama", {{"layers", "1"},
                                             {"hidden", "8"},
                                             {"heads", "2"},
                                             {"kv_heads", "2"},
                                             {"feed_forward", "24"},
                                             {"sequence", "4"},
                                             {"vocabulary", "16"},
                                             {"element_bytes", "2"}});
  const cost::AnalyticCosts costs;
  const plan::Training training{2, plan::Optimizer::adam};
  const auto activations = [&](const char* framework, int tensor_parallel) {
    const auto cluster = two_devices().run_by(cluster::runtime(framework));
    plan::Stage stage = all_of(graph, tensor_parallel);
    stage.tensor_parallel = tensor_parallel;
    stage.sequence_parallel = tensor_parallel > 1;
    return cost::stage_load({graph, cluster, costs, training}, stage).activations.value();
  };
  // The norm behind the layer is one more.
  const std::int64_t more = 4 * (3 * (4 * 8 + 2) + 2 * 24);
  CHECK(activations("accelerate", 1) - activations("megatron", 1) == more);
  CHECK(activations("accelerate+compiled", 1) == activations("megatron", 1));
  // By tokens it also saves the other half of three gathered inputs: attention's, the gate's, the head's.
  CHECK(activations("pytorch", 2) - activations("megatron", 2) == more / 2 + 3 * (4 * 8 * 2) / 2);
  CHECK(activations("pytorch+compiled", 2) - activations("megatron", 2) == 3 * (4 * 8 * 2) / 2);
  // PyTorch's RMSNorm is one kernel.
  CHECK(activations("torchtitan", 1) - activations("megatron", 1) == 4 * 2 * 24);
}

TEST_CASE(
    "a softmax of scores is fused for whole fours of matrices: eight kernels more, and four with "
    "recomputation") {
  const auto graph = models::build("gpt", {{"layers", "1"}, {"attention", "plain"}});
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto fused = cost::launches(graph, core::OpId(i), 8),
               not_fused = cost::launches(graph, core::OpId(i), 6);
    const int more = graph.op(core::OpId(i)).kind == graph::OpKind::attention ? 4 : 0;
    CHECK(not_fused.forward - fused.forward == more);
    CHECK(not_fused.input_gradient - fused.input_gradient == more);
  }
}

TEST_CASE(
    "attention without biases: query, key and value, a flash core, the product behind, and two that turn") {
  const auto graph = models::build("llama", {{"layers", "1"}, {"sequence", "16"}});
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (graph.op(core::OpId(i)).kind == graph::OpKind::attention) {
      CHECK(cost::launches(graph, core::OpId(i), 32).forward == 3 + 2);
      CHECK(cost::launches(graph, core::OpId(i), 32).weight_gradient == 2);
    }
}

TEST_CASE("a cross entropy over the vocabulary is many kernels") {
  for (const bool half : {true, false}) {  // whose logits are cast to fp32, and their gradient back
    const auto graph =
        models::build("gpt", {{"layers", "1"}, {"loss", "yes"}, {"element_bytes", half ? "2" : "4"}});
    const auto loss = cost::launches(graph, core::OpId(graph.size() - 1), 0);
    CHECK(loss.forward == (half ? 30 : 29));
    CHECK(loss.input_gradient == (half ? 12 : 11));
  }
}

TEST_CASE("a slow host makes a stage last as long as its launches, however it is divided") {
  const auto graph =
      models::build("gpt", {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"sequence", "16"}});
  const cost::AnalyticCosts costs;
  const auto quick = two_devices(), slow = quick.run_by({.per_kernel = Seconds(1)});
  plan::Stage stage = all_of(graph, 2);
  for (const int group : {1, 2}) {
    stage.tensor_parallel = group;
    const cost::Problem with{graph, slow, costs, {4}}, without{graph, quick, costs, {4}};
    cost::OpTime launches;
    for (const core::OpId op : stage.operators) {
      const auto each = cost::launch_time(graph, op, slow.types()[0], 1, {});
      launches.forward += each.forward;
      launches.input_gradient += each.backward();
    }
    const auto total = cost::stage_time(with, stage, 1).total();
    const auto divided = layout::infer(graph, stage);  // whose collectives are launched too
    CHECK(divided.collectives.forward.empty() == (group == 1));
    CHECK(total.forward.value() ==
          near(launches.forward.value() + static_cast<double>(divided.collectives.forward.size())));
    CHECK(total.backward().value() ==
          near(launches.backward().value() + static_cast<double>(divided.collectives.backward.size()), 1e-4));
    CHECK(cost::stage_time(without, stage, 1).total().forward < Seconds(0.1));
  }
  CHECK(cost::launch_time(graph, stage.operators[0], quick.types()[0], 1, {}).total() == Seconds(0));
}

TEST_CASE(
    "a task-based runtime adds its time to every forward and every backward pass, however many kernels") {
  const auto graph =
      models::build("gpt", {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"sequence", "16"}});
  const cost::AnalyticCosts costs;
  const auto quick = two_devices(), slow = quick.run_by({.per_task = Seconds(1)});
  const cost::Problem with{graph, slow, costs, {4}}, without{graph, quick, costs, {4}};
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const core::OpId op(v);
    CAPTURE(graph.op(op).name);
    const auto waits = cost::operator_time(with, op, slow.types()[0], 2),
               plain = cost::operator_time(without, op, quick.types()[0], 2);
    const auto kernels = cost::launches(graph, op, 4);
    CHECK((waits.forward - plain.forward).value() == near(kernels.forward > 0 ? 1 : 0));
    CHECK((waits.backward() - plain.backward()).value() ==
          near(kernels.input_gradient + kernels.weight_gradient > 0 ? 1 : 0));
    CHECK((waits.weight_gradient > Seconds(0.1)) == (kernels.weight_gradient > 0));
  }
}

TEST_CASE("kernels and updates of a slowed device take so many times as long, what is sent does not") {
  const auto graph =
      models::build("gpt", {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"sequence", "16"}});
  const cost::AnalyticCosts costs;
  const auto quick = two_devices(), slow = quick.slowed_by(1.25);
  plan::Stage stage = all_of(graph, 2);
  for (const int group : {1, 2}) {
    stage.tensor_parallel = group;
    const cost::Problem with{graph, slow, costs, {4}}, without{graph, quick, costs, {4}};
    const auto slowed = cost::stage_time(with, stage, 1), plain = cost::stage_time(without, stage, 1);
    CHECK(slowed.compute.total().value() == near(1.25 * plain.compute.total().value()));
    CHECK(slowed.collectives.total() == plain.collectives.total());
    CHECK(cost::step_time(with, stage, 0, slow.types()[0]).value() ==
          near(1.25 * cost::step_time(without, stage, 0, quick.types()[0]).value()));
  }
}

TEST_CASE("a large operator hides its launches, a small one beside it does not") {
  const auto graph = models::build("gpt", {{"layers", "1"}, {"hidden", "2048"}, {"heads", "16"}});
  const cost::AnalyticCosts costs;
  const auto cluster = two_devices().run_by({.per_kernel = Seconds(40e-6)});
  const cost::Problem problem{graph, cluster, costs, {4}};
  const auto named = [&](const std::string& name) {
    for (std::size_t i = 0; i < graph.size(); ++i)
      if (graph.op(core::OpId(i)).name == name) return core::OpId(i);
    FAIL("no operator " << name);
    return core::OpId(0);
  };
  const auto on = [&](const std::string& name) {
    return cost::operator_time(problem, named(name), cluster.types()[0], 1).forward;
  };
  CHECK(on("layer0.dense1") == costs.op_time(graph, named("layer0.dense1"), cluster.types()[0], 1).forward);
  CHECK(on("token.embedding") == Seconds(40e-6));
  const auto both = std::vector{named("layer0.dense1"), named("token.embedding")};
  CHECK(cost::compute_time(problem, both, cluster.types()[0], 1).forward.value() ==
        near((on("layer0.dense1") + on("token.embedding")).value()));
}

TEST_CASE("a sum of n tensors is n - 1 kernels; what has no weights launches none for their gradients") {
  graph::GraphBuilder b("kernels");
  graph::Operator x;
  x.name = "x";
  x.output_bytes = core::Bytes(64);
  const auto first = b.add(x);
  graph::Operator weights;
  weights.name = "weights";
  weights.kind = graph::OpKind::linear;
  weights.parameters = 10;
  weights.forward_flops = weights.weight_gradient_flops = core::Flops(1);
  weights.output_bytes = core::Bytes(64);
  const auto trained = b.add(weights, {first});
  const auto add = [&](const std::string& name, graph::OpKind kind, const graph::Attributes& attributes) {
    graph::Operator op;
    op.name = name;
    op.kind = kind;
    op.attributes = attributes;
    op.forward_flops = op.input_gradient_flops = core::Flops(1);
    op.output_bytes = core::Bytes(64);
    return b.add(op, {trained});
  };
  const auto two = add("two", graph::OpKind::elementwise, graph::Elementwise{16, 2}),
             four = add("four", graph::OpKind::elementwise, graph::Elementwise{16, 4}),
             relu = add("relu", graph::OpKind::activation, graph::Activation{16, graph::Function::relu});
  const auto graph = b.build();
  CHECK(cost::launches(graph, two, 4).forward == 1);
  CHECK(cost::launches(graph, four, 4).forward == 3);
  CHECK(cost::launches(graph, relu, 4).forward == 1);
  CHECK(cost::launches(graph, relu, 4).input_gradient == 1);
  CHECK(cost::launches(graph, relu, 4).weight_gradient == 0);
}
