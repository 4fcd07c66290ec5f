#include "penstock/cost/op_shard.hpp"

#include <doctest/doctest.h>

using namespace penstock;

TEST_CASE("a shard of attention has its part of the heads, and of their own width side by side") {
  // 8 heads of 16, 128 side by side, in a hidden width of 64, two heads share keys: one of four devices has 2
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
