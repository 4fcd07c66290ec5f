#include "penstock/cost/op_shard.hpp"

#include <doctest/doctest.h>

#include "penstock/graph/graph_builder.hpp"

using namespace penstock;

TEST_CASE("a shard of attention has its part of the heads, and of their own width side by side") {
  // 8 heads of 16, 128 side by side, in a hidden width of 64, two heads share keys. One of four devices has 2
  // heads, 32 side by side, which share one pair of keys.
  graph::Operator op;
  op.kind = graph::OpKind::attention;
  op.attributes =
      graph::Attention{.queries = 5, .keys = 5, .hidden = 64, .heads = 8, .kv_heads = 4, .inner = 128};
  const auto shard = cost::divided(op, {plan::Partition::column, 0.25});
  REQUIRE(shard);
  const auto& a = std::get<graph::Attention>(*shard);
  CHECK(a.heads == 2);
  CHECK(a.inner_width() == 32);
  CHECK(a.shared_width() == 16);
}

TEST_CASE("a shard's work: its share of FLOPs and weights, and whole what is not divided") {
  // 1000 B in, 3000 B out, 400 weights.
  graph::GraphBuilder b("shard");
  graph::Operator x, y;
  x.name = "x";
  x.output_bytes = core::Bytes(1000);
  y.name = "y";
  y.kind = graph::OpKind::linear;
  y.attributes = graph::Linear{.rows = 1, .in = 20, .out = 20};
  y.parameters = 400;
  y.forward_flops = y.input_gradient_flops = y.weight_gradient_flops = core::Flops(800);
  y.output_bytes = core::Bytes(3000);
  const auto id = b.add(y, {b.add(x)});
  const auto graph = b.build();
  const auto of = [&](const cost::OpShard& part) {
    return cost::shard_work(graph, id, cluster::Precision::fp32, part);
  };
  const auto whole = of({});
  const double moved = static_cast<double>(whole.moved.value());
  const auto column = of({plan::Partition::column, 0.25, true, false});
  CHECK(column.moved.value() == static_cast<std::int64_t>(moved * (1000 + 750) / 4000));
  CHECK(column.weights.value() * 4 == whole.weights.value());
  CHECK(column.flops[0].value() == 200);
  const auto row = of({plan::Partition::row, 0.25, false, true});
  CHECK(row.moved.value() == static_cast<std::int64_t>(moved * (250 + 3000) / 4000));
  CHECK(row.weights.value() * 4 == whole.weights.value());
}
