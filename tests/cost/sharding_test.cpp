#include "penstock/cost/sharding.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/pass_pieces.hpp"
#include "support/checkout.hpp"
#include "support/fixed_costs.hpp"
#include "support/matrices.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::OpId;
using layout::GroupCollective;
using plan::Partition;
using support::matrices;
using support::stage;
using TransferKind = GroupCollective::TransferKind;

TEST_CASE("a group computes its parts at once and waits for its collectives") {
  const auto g = matrices(3);
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(3, 2.0, 4.0);
  const cost::Problem problem{g, cluster, costs, {4}};
  const auto time = cost::stage_time(problem, stage(0, 2, 2, 2), 4);
  // 3 operators x 4 samples x 2 s, half of it each. 4 kB over a ring of two: two steps of 2 kB at 1 GB/s, 4
  // us.
  CHECK(time.compute.forward.value() == support::near(12));
  CHECK(time.compute.backward().value() == support::near(24));
  CHECK(time.collectives.forward.value() == support::near(4e-6));
  CHECK(time.collectives.input_gradient.value() == support::near(4e-6));
}

TEST_CASE("shares: the device with most of the work is waited for") {
  const auto g = matrices(1);
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(1, 2.0, 4.0);
  const cost::Problem problem{g, cluster, costs, {4}};
  auto s = stage(0, 0, 2, 2);
  s.shares = {3, 1};
  CHECK(cost::stage_time(problem, s, 4).compute.forward.value() == support::near(6));  // 3/4 of 8 s
  CHECK(cost::stage_load(problem, s).parameters == Bytes(3000));
  CHECK(cost::stage_load(problem, s, 1).parameters == Bytes(1000));
}

TEST_CASE("a device of a group keeps its part of weights and of divided tensors") {
  const auto g = matrices(2);
  const auto cluster = support::tiny_cluster(2);
  const cost::AnalyticCosts costs;
  const auto load = cost::stage_load({g, cluster, costs, {4}}, stage(0, 1, 2, 2));
  CHECK(load.parameters == Bytes(4000));         // half of 8 kB
  CHECK(load.activations == Bytes(500 + 1000));  // a's output divided, b's whole
  // b's: the gradient of its whole output and half of its input's; half of its weights' while the former are
  // there.
  CHECK(load.workspace.at(4) == Bytes(4 * (1000 + 500) + 2000));
  CHECK(load.largest == Bytes(2000));
}

TEST_CASE("a device of a group keeps what it reads otherwise than it was made, too") {
  const auto g = matrices(3);  // 1 kB of output each
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const auto activations = [&](plan::Stage s, std::vector<Partition> how) {
    for (std::size_t i = 0; i < how.size(); ++i) s.partition[s.operators[i]] = how[i];
    return cost::stage_load({g, cluster, costs, {4}}, s).activations.value();
  };
  const auto whole = Partition::whole, batch = Partition::batch, column = Partition::column,
             row = Partition::row;
  const auto two = stage(0, 1, 2, 2), four = stage(0, 1, 4, 4);
  CHECK(activations(two, {column, row}) == 500 + 1000);           // Megatron-LM's pair
  CHECK(activations(two, {column, column}) == 500 + 1000 + 500);  // all-gathered between them
  CHECK(activations(four, {column, column}) == 250 + 1000 + 250);
  CHECK(activations(two, {whole, row}) == 1000 + 500 + 1000);                // its shard
  CHECK(activations(two, {batch, row}) == 500 + 500 + 1000);                 // all-to-all
  CHECK(activations(stage(1, 2, 2, 2), {row, column}) == 500 + 1000 + 500);  // of what came whole
  auto uneven = two;
  uneven.shares = {3, 1};
  CHECK(activations(uneven, {whole, row}) == 1000 + 750 + 1000);
}

TEST_CASE(
    "a row-parallel layer keeps its sum beside what a function makes of it, unless that follows from it") {
  using graph::Function;
  const auto cluster = support::tiny_cluster(2);
  const cost::AnalyticCosts costs;
  const auto activations = [&](Function function, Partition how) {
    graph::GraphBuilder builder("layer");
    auto op = support::unit_op("a", 1e9, 1000);
    op.kind = graph::OpKind::linear;
    op.attributes = graph::Linear{.rows = 1, .in = 4, .out = 250, .function = function};
    builder.add(op);
    const auto g = builder.build();
    auto s = stage(0, 0, 2, 2);
    s.partition[OpId(0)] = how;
    return cost::stage_load({g, cluster, costs, {4}}, s).activations;
  };
  CHECK(activations(Function::none, Partition::row) == Bytes(1000));
  CHECK(activations(Function::gelu, Partition::row) == Bytes(2000));
  CHECK(activations(Function::tanh, Partition::row) == Bytes(1000));
  CHECK(activations(Function::gelu, Partition::column) == Bytes(500));
}

TEST_CASE("layers that are computed again gather again, what is saved keeps what it gathered") {
  graph::GraphBuilder builder("layers");
  for (const char* name : {"l0.a", "l0.b", "l1.a", "l1.b"}) builder.add(support::unit_op(name, 1e9, 1000));
  for (std::size_t v = 1; v < 4; ++v) builder.add_edge(OpId(v - 1), OpId(v));
  const auto g = builder.build();
  const auto cluster = support::tiny_cluster(2);
  const cost::AnalyticCosts costs;
  auto s = stage(0, 3, 2, 2);
  for (const OpId id : s.operators) s.partition[id] = Partition::column;  // each gathers what it reads
  const auto load = [&](plan::Recomputation what) {
    s.recompute = what;
    return cost::stage_load({g, cluster, costs, {4}}, s);
  };
  const Bytes all(4 * 500 + 3 * 1000);
  CHECK(load({}).activations == all);
  CHECK(load(plan::kRecomputeStage).activations == all);
  const auto layers = load(plan::kRecomputeLayers);
  CHECK(layers.saved == Bytes(500));                       // of l0.b, which l1.a gathers again
  CHECK(layers.activations == Bytes(2 * 500 + 2 * 1000));  // l1's, with l0.b and l1.a gathered
  const auto first = load({plan::Recomputation::SegmentScope::layers, false, 1});
  CHECK(first.saved == Bytes(500 + 2 * 500 + 2 * 1000));
  CHECK(first.activations == Bytes(0));  // l0's take the place of l1's, of which l0.b's is left
}

TEST_CASE("parts of an operator take at least as long together as the whole") {
  const auto g = matrices(2);
  const auto cluster = support::tiny_cluster(1);
  const cost::AnalyticCosts costs;
  const auto& type = cluster.type(DeviceId(0));
  for (const std::int64_t samples : {1, 7, 64})
    for (const int ways : {2, 4, 8})
      for (const Partition how : {Partition::batch, Partition::column, Partition::row}) {
        const auto whole = costs.op_time(g, OpId(1), type, samples);
        const auto part =
            costs.part_time(g, OpId(1), type, samples, cost::op_shard(g.op(OpId(1)), how, 1.0 / ways));
        CHECK(part.forward.value() * ways >= whole.forward.value() * (1 - 1e-12));
        CHECK(part.backward().value() * ways >= whole.backward().value() * (1 - 1e-12));
        CHECK(part.forward <= whole.forward);
      }
}

TEST_CASE("a part of any operator takes its part of the whole or longer, and no longer than a larger part") {
  const auto g = models::build("bert");
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(1);
  const cost::AnalyticCosts costs;
  std::size_t wrong = 0;
  const auto check = [&](OpId id, std::int64_t samples, Partition how) {
    const auto& type = cluster.type(DeviceId(0));
    const auto whole = costs.op_time(g, id, type, samples);
    cost::OpTime smaller;
    for (const double p : {0.125, 0.3, 0.5, 0.9, 1.0}) {
      const auto part = costs.part_time(g, id, type, samples, cost::op_shard(g.op(id), how, p));
      for (const auto pass :
           {&cost::OpTime::forward, &cost::OpTime::input_gradient, &cost::OpTime::weight_gradient})
        wrong += (part.*pass).value() < p * (whole.*pass).value() * (1 - 1e-12) || part.*pass < smaller.*pass;
      smaller = part;
    }
  };
  for (std::size_t v = 0; v < g.size(); ++v)
    for (const std::int64_t samples : {1, 7, 64})
      for (const Partition how : {Partition::whole, Partition::batch, Partition::column, Partition::row})
        check(OpId(v), samples, how);
  CHECK(wrong == 0);
}

TEST_CASE("ZeRO shares optimizer state, then gradients, then weights") {
  const auto g = matrices(2);
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{g, cluster, costs, {4}};
  auto s = stage(0, 1, 4, 1);
  const auto memory = [&](int zero) {
    s.zero = zero;
    return cost::stage_memory(cost::stage_load(problem, s), {}, {.optimizer = plan::Optimizer::adam}, 1, 0,
                              {}, plan::replica_placement(s));
  };
  using plan::MemoryKind;
  // 8 kB of weights, as much of gradients, twice that of Adam's state, over four replicas. Two tensors of 1
  // kB are at work, and one matrix's gradient of 4 kB.
  const std::int64_t weights[] = {8000, 8000, 8000, 2000}, gradients[] = {8000, 8000, 2000, 2000},
                     state[] = {16000, 4000, 4000, 4000}, work[] = {6000, 6000, 6000, 14000};
  for (int zero = 0; zero <= 3; ++zero) {
    const auto m = memory(zero);
    CHECK(at(m, MemoryKind::weights) == Bytes(weights[zero]));
    CHECK(at(m, MemoryKind::gradients) == Bytes(gradients[zero]));
    CHECK(at(m, MemoryKind::optimizer) == Bytes(state[zero]));
    CHECK(at(m, MemoryKind::workspace) == Bytes(work[zero]));
  }
}

TEST_CASE("ZeRO 2 scatters gradients in every backward pass, ZeRO 3 gathers weights in both") {
  const auto g = matrices(2);
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(2, 1.0, 2.0);
  const cost::Problem problem{g, cluster, costs, {4}};
  auto s = stage(0, 1, 4, 1);
  const double pass = 2 * 3 * 1e-6;  // two operators of 4 kB: three steps of 1 kB at 1 GB/s each
  const auto collectives = [&](int zero) {
    s.zero = zero;
    return cost::stage_time(problem, s, 1).collectives;
  };
  CHECK(collectives(1).total().value() == 0);
  CHECK(collectives(2).total().value() == support::near(pass));
  CHECK(collectives(2).weight_gradient.value() == support::near(pass));
  CHECK(collectives(3).total().value() == support::near(3 * pass));
  CHECK(collectives(3).forward.value() == support::near(pass));
  // After the mini-batch: 8 kB all-reduced (12 us), new weights gathered (6 us), nothing.
  const auto after = [&](int zero) {
    s.zero = zero;
    double sum = 0;
    for (const auto& r : cost::reductions(problem, s, s.operators)) sum += cost::time(problem, r).value();
    return sum;
  };
  CHECK(after(0) == support::near(12e-6));
  CHECK(after(1) == support::near(12e-6));
  CHECK(after(2) == support::near(6e-6));
  CHECK(after(3) == 0);
}

TEST_CASE(
    "replicas of tensor-parallel groups reduce part by part, operators divided by samples on all devices") {
  const auto g = matrices(2);
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(2, 1.0, 2.0);
  const cost::Problem problem{g, cluster, costs, {4}};
  auto s = stage(0, 1, 4, 2);
  s.partition = {{OpId(0), Partition::batch}, {OpId(1), Partition::column}};
  const auto out = cost::reductions(problem, s, s.operators);
  REQUIRE(out.size() == 2);
  CHECK(out[0].groups ==
        std::vector<std::vector<DeviceId>>{{DeviceId(0), DeviceId(2)}, {DeviceId(1), DeviceId(3)}});
  CHECK(out[0].bytes == Bytes(2000));
  CHECK(out[1].groups == std::vector<std::vector<DeviceId>>{s.devices});
  CHECK(out[1].bytes == Bytes(4000));
}

TEST_CASE("compressed gradients are fewer bytes, rounded up") {
  const auto g = matrices(1);
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(1, 1.0, 2.0);
  cost::Problem problem{g, cluster, costs, {4}};
  problem.training.compression.gradients = 0.1001;
  const auto s = stage(0, 0, 2, 1);
  CHECK(cost::reductions(problem, s, s.operators).front().bytes == Bytes(401));  // 400.4
}

TEST_CASE(
    "parts of what does not divide are rounded up: updates, halves of an all-reduce, weights of a group") {
  const auto g = matrices(1);
  const auto cluster = support::tiny_cluster(3);
  const cost::AnalyticCosts costs;
  cost::Problem problem{g, cluster, costs, {4}};
  problem.training.compression.gradients = 0.1001;
  const auto optimizer = problem.training.optimizer;
  const auto& type = cluster.type(DeviceId(0));
  auto s = stage(0, 0, 3, 1);
  s.zero = 1;
  CHECK(cost::step_time(problem, s, 0, type) ==
        costs.step_time(Bytes(1334), plan::Training{.optimizer = optimizer}, type));  // of 4,000
  CHECK(cost::reductions(problem, s, s.operators).front().bytes == Bytes(2201));  // of 401 and 4,000, a half
  CHECK(cost::stage_load(problem, stage(0, 0, 3, 3), 0).parameters == Bytes(1334));
}

TEST_CASE("layers divided by tokens too: as many bytes sent, kept tensors in even parts, norms summed") {
  const auto graph = models::build("gpt", {{"layers", "2"}, {"heads", "8"}, {"hidden", "512"}});
  const auto cluster = support::tiny_cluster(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {8}};
  plan::Stage by_heads;
  Bytes norms;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const graph::Operator& op = graph.op(OpId(v));
    if (!op.name.starts_with("layer")) continue;
    by_heads.operators.emplace_back(v);
    if (op.kind == graph::OpKind::norm) norms += graph.parameter_bytes(OpId(v));
  }
  for (std::size_t d = 0; d < 8; ++d) by_heads.devices.emplace_back(d);
  by_heads.tensor_parallel = 4;
  plan::Stage by_tokens = by_heads;
  by_tokens.sequence_parallel = true;

  const auto bytes = [](const std::vector<GroupCollective>& list) {
    std::int64_t halves = 0;  // of a ring's all-reduce
    for (const auto& c : list) halves += (c.kind == TransferKind::all_reduce ? 2 : 1) * c.bytes.value();
    return halves;
  };
  const auto heads = layout::infer(graph, by_heads), tokens = layout::infer(graph, by_tokens);
  // Inputs in parts are gathered for a norm, and the gradient of a whole output is gathered; by tokens
  // neither is.
  const std::int64_t crossing = graph.op(by_heads.operators.back()).output_bytes.value();
  CHECK(bytes(tokens.collectives.forward) == bytes(heads.collectives.forward) - crossing);
  CHECK(bytes(tokens.collectives.backward) == bytes(heads.collectives.backward) - crossing);

  const auto whole = cost::stage_load(problem, by_heads.operators);
  const auto activations = cost::stage_load(problem, by_tokens).activations;
  CHECK(activations.value() == support::near(static_cast<double>(whole.activations.value()) / 4, 1e-3));
  CHECK(cost::stage_load(problem, by_heads).activations.value() >
        1.3 * static_cast<double>(activations.value()));
  CHECK(cost::held_weights(graph, by_tokens, 0) == cost::held_weights(graph, by_heads, 0));
  CHECK(cost::stage_time(problem, by_tokens, 8).compute.total() <
        cost::stage_time(problem, by_heads, 8).compute.total());

  const auto sums = cost::reductions(problem, by_tokens, by_tokens.operators);
  REQUIRE(sums.size() == 2);
  CHECK(sums[0].bytes == norms);
  CHECK(sums[0].groups.size() == 2);
  CHECK(sums[0].groups[1].front() == DeviceId(4));
  CHECK(sums[1].bytes == cost::reductions(problem, by_heads, by_heads.operators).front().bytes);
}

TEST_CASE("with ZeRO, of several sets of gradients new weights are gathered after the last") {
  const auto g = matrices(2);  // 4 kB of weights each
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(2, 1, 1);
  const cost::Problem problem{g, cluster, costs, {4}};
  auto s = stage(0, 1, 4, 1);
  const auto moved = [&](int zero) {
    s.zero = zero;
    std::string out;
    for (const auto& set : cost::reductions(problem, s, {{OpId(1)}, {OpId(0)}})) {
      for (const auto& r : set)
        out += (r.all_gather ? "gather " : "reduce ") + std::to_string(r.bytes.value()) + " ";
      out += "| ";
    }
    return out;
  };
  CHECK(moved(0) == "reduce 4000 | reduce 4000 | ");
  CHECK(moved(1) == "gather 4000 | gather 4000 gather 8000 | ");  // scattered, scattered, gathered
  CHECK(moved(2) == "| gather 8000 | ");
  CHECK(moved(3) == "| | ");
  s.zero = 1;
  CHECK(cost::reductions(problem, s, s.operators).front().bytes == Bytes(8000));
}

TEST_CASE("by tokens, torch saves the inputs of two products per layer whole, Megatron-LM a part") {
  // 2 s b h (1 - 1/t) numbers per layer, and s b h (1 - 1/t) for the head, of four bytes; times are equal.
  constexpr std::int64_t kTensor = 64 * 32 * 4;
  const auto graph = models::build("llama", {{"layers", "3"},
                                             {"hidden", "32"},
                                             {"heads", "4"},
                                             {"kv_heads", "4"},
                                             {"feed_forward", "64"},
                                             {"sequence", "64"},
                                             {"vocabulary", "128"},
                                             {"loss", "no"}});
  const cost::AnalyticCosts costs;
  for (const int tensor : {2, 4}) {
    CAPTURE(tensor);
    const auto again = support::tiny_cluster(static_cast<std::size_t>(tensor));
    const auto whole = again.run_by({.memory = {.saves_gathered = true}});
    auto s = stage(0, graph.size() - 1, static_cast<std::size_t>(tensor), tensor);
    const auto load = [&](const cluster::Cluster& on) {
      return cost::stage_load({graph, on, costs, {8}}, s);
    };
    const auto more = [&] { return load(whole).activations.value() - load(again).activations.value(); };
    CHECK(more() == 0);
    s.sequence_parallel = true;
    const std::int64_t each = kTensor - kTensor / tensor;
    CHECK(more() == (2 * 3 + 1) * each);
    CHECK(cost::stage_time({graph, whole, costs, {8}}, s, 2) ==
          cost::stage_time({graph, again, costs, {8}}, s, 2));
    const auto devices = std::exchange(s.devices, {});  // planners need it before a stage has devices
    CHECK(more() == (2 * 3 + 1) * each);
    s.devices = devices;
    // Layers that are computed again hold them one layer at a time; the head keeps its own, which is free when
    // the last layer is computed again.
    s.recompute = plan::kRecomputeLayers;
    CHECK(more() == 2 * each - each);
    CHECK(load(whole).saved.value() - load(again).saved.value() == each);
  }
}

TEST_CASE("inputs are gathered again beside backward passes, unless they were saved whole") {
  const auto g = matrices(3);
  const auto cluster = support::tiny_cluster(2);
  const auto torch = cluster.run_by(cluster::runtime("pytorch"));
  const cost::AnalyticCosts costs;
  auto s = stage(0, 2, 2, 2);
  s.sequence_parallel = true;
  const cost::Problem again{g, cluster, costs, {4}}, whole{g, torch, costs, {4}};
  using Pass = cost::PassPieces::Pass;
  for (const Pass pass : {Pass::backward, Pass::input_gradient}) {
    const auto gathers = cost::PassPieces(again, s).gathered_again(pass);
    REQUIRE(gathers.size() == 1);
    CHECK(gathers[0].op == OpId(2));
    CHECK(gathers[0].bytes == Bytes(1000));
    CHECK_FALSE(gathers[0].scatters);
    CHECK(cost::PassPieces(whole, s).gathered_again(pass).empty());
  }
  for (const Pass pass : {Pass::forward, Pass::recompute, Pass::weight_gradient})
    CHECK(cost::PassPieces(again, s).gathered_again(pass).empty());
  s.sequence_parallel = false;
  CHECK(cost::PassPieces(again, s).gathered_again(Pass::backward).empty());
}

TEST_CASE("by tokens, what enters stays in parts where only such operators read it") {
  const auto graph = models::build("gpt", {{"layers", "2"}, {"heads", "8"}, {"hidden", "512"}});
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {8}};
  plan::Stage s;
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).name.starts_with("layer1.")) s.operators.emplace_back(v);
  for (std::size_t d = 0; d < 4; ++d) s.devices.emplace_back(d);
  s.tensor_parallel = 4;
  const Bytes whole = cost::stage_load(problem, s).inputs, left = cost::stage_load(problem, s).outputs;
  s.sequence_parallel = true;
  CHECK(cost::stage_load(problem, s).inputs * 4 == whole);
  CHECK(cost::stage_load(problem, s).outputs * 4 == left);
  s.operators.erase(s.operators.begin());  // without the norm: attention reads what it made, whole
  CHECK(cost::stage_load(problem, s).inputs > whole);
}

TEST_CASE("hybrid sharding: halves in pairs, whose parts are all-reduced across pairs") {
  const auto g = matrices(2);
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(2, 1.0, 2.0);
  const cost::Problem problem{g, cluster, costs, {4}};
  auto s = stage(0, 1, 4, 1);
  s.zero = 3;
  s.zero_over = 2;
  const auto memory =
      cost::stage_memory(cost::stage_load(problem, s), {}, {}, 1, 0, {}, plan::replica_placement(s));
  CHECK(at(memory, plan::MemoryKind::weights) == Bytes(4000));  // half of 8 kB
  // A pass gathers two operators of 4 kB in pairs: half of each comes over a cable of 1 GB/s.
  CHECK(cost::stage_time(problem, s, 1).collectives.forward.value() == support::near(2 * 2e-6));
  // After the mini-batch the halves of 8 kB are summed by pairs of devices that have the same: two steps of 2
  // kB.
  const auto sums = cost::reductions(problem, s, s.operators);
  REQUIRE(sums.size() == 1);
  CHECK(sums[0].groups ==
        std::vector<std::vector<DeviceId>>{{DeviceId(0), DeviceId(2)}, {DeviceId(1), DeviceId(3)}});
  CHECK(cost::time(problem, sums[0]).value() == support::near(4e-6));
  // With ZeRO 1 the gradients are scattered and the weights gathered in pairs, 2 x 4 us, besides.
  s.zero = 1;
  double sum = 0;
  for (const auto& r : cost::reductions(problem, s, s.operators)) sum += cost::time(problem, r).value();
  CHECK(sum == support::near(12e-6));
}

TEST_CASE("ZeRO 3 gathers frozen weights too; gradients are scattered as they are sent") {
  const auto graph_of = [](int element_bytes) {
    graph::GraphBuilder b("frozen", element_bytes);
    b.add(support::unit_op("a", 1e9, 1000));
    graph::Operator frozen = support::unit_op("b");
    frozen.frozen_parameters = 500;
    frozen.weight_gradient_flops = core::Flops(0);
    b.add(frozen);
    b.add_edge(OpId(0), OpId(1));
    return b.build();
  };
  const auto cluster = support::tiny_cluster(4);
  const auto costs = support::FixedCosts::uniform(2, 1.0, 2.0);
  auto s = stage(0, 1, 4, 1);
  s.zero = 3;
  const auto fp32 = graph_of(4), bf16 = graph_of(2);
  // Three of four parts of 6 kB at 1 GB/s; of 4 kB of gradients.
  const auto time = cost::stage_time({fp32, cluster, costs, {4}}, s, 1).collectives;
  CHECK(time.forward.value() == support::near(6e-6 * 3 / 4));
  CHECK(time.weight_gradient.value() == support::near(4e-6 * 3 / 4));
  // bf16 weights with fp32 gradients: 3 kB and 4 kB.
  plan::Training mixed{4};
  mixed.precision = plan::mixed_precision("mixed_bf16");
  const auto half = cost::stage_time({bf16, cluster, costs, mixed}, s, 1).collectives;
  CHECK(half.forward.value() == support::near(3e-6 * 3 / 4));
  CHECK(half.weight_gradient.value() == support::near(4e-6 * 3 / 4));
}

TEST_CASE("gradients are scattered behind the pass that makes them, whole or split") {
  const auto g = matrices(2);
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(2, 1.0, 2.0);
  const cost::Problem problem{g, cluster, costs, {4}};
  auto s = stage(0, 1, 2, 1);
  s.zero = 2;
  const cost::PassPieces pieces(problem, s);
  using Pass = cost::PassPieces::Pass;
  const auto scattered = [&](Pass pass) {
    Bytes sum;
    for (const auto& piece : pieces.of(pass, s.operators))
      for (const auto& c : piece.gradients) sum += c.bytes;
    return sum;
  };
  CHECK(scattered(Pass::backward) == Bytes(8000));
  CHECK(scattered(Pass::weight_gradient) == Bytes(8000));
  CHECK(scattered(Pass::input_gradient) == Bytes(0));
  CHECK(scattered(Pass::forward) == Bytes(0));
}

TEST_CASE("recomputed operators gather their weights again, where ZeRO shards them") {
  // Two matrices of 4 kB on two devices.
  const auto g = matrices(2);
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(2, 1.0, 2.0);
  const cost::Problem problem{g, cluster, costs, {4}};
  auto s = stage(0, 1, 2, 1);
  s.zero = 3;
  s.recompute = plan::kRecomputeStage;
  using Pass = cost::PassPieces::Pass;
  const auto gathered = [&](Pass pass) {
    Bytes sum;
    for (const auto& piece : cost::PassPieces(problem, s).of(pass, s.operators))
      for (const auto& c : piece.weights) sum += c.bytes;
    return sum;
  };
  CHECK(gathered(Pass::forward) == Bytes(8000));
  CHECK(gathered(Pass::recompute) == Bytes(8000));
  s.recompute = {};
  CHECK(gathered(Pass::recompute) == Bytes(0));
}
