// Rules of operators, in the words of the papers, and what follows for every pair of placements.

#include "penstock/layout/rule.hpp"

#include <doctest/doctest.h>

#include "penstock/layout/convert.hpp"
#include "support/matrices.hpp"

using namespace penstock;
using core::OpId;
using graph::OpKind;
using layout::Placement;
using layout::WeightAxis;
using plan::Partition;

namespace {

layout::PlacementRule rule(OpKind kind, Partition how) {
  graph::Operator op;
  op.kind = kind;
  return layout::rule(op, how);
}

}  // namespace

TEST_CASE("Y = X W: by columns X is replicated, by rows Y is a sum of terms") {
  for (const OpKind matrix : {OpKind::linear, OpKind::convolution}) {
    const auto columns = rule(matrix, Partition::column), rows = rule(matrix, Partition::row);
    CHECK(columns.reads == Placement::replicate);
    CHECK(columns.makes == Placement::shard_features);
    CHECK(!columns.partial_output);
    CHECK(columns.partial_input_gradient);  // dX = dY W^T, a sum over the columns of W
    CHECK(columns.weights == WeightAxis::first);
    CHECK(rows.reads == Placement::shard_features);
    CHECK(rows.makes == Placement::replicate);
    CHECK(rows.partial_output);
    CHECK(!rows.partial_input_gradient);
    CHECK(rows.weights == WeightAxis::last);
  }
}

TEST_CASE("a table is stored rows first: a shard of its vocabulary is one of a head's columns") {
  CHECK(rule(OpKind::embedding, Partition::row).weights == rule(OpKind::linear, Partition::column).weights);
  CHECK(rule(OpKind::embedding, Partition::column).weights == rule(OpKind::linear, Partition::row).weights);
  CHECK(rule(OpKind::embedding, Partition::row).partial_output);  // ids of other devices give zeros
  CHECK(!rule(OpKind::embedding, Partition::column).partial_output);
}

TEST_CASE("attention by heads, experts by columns: replicated in, a sum of terms out, either way") {
  for (const OpKind kind : {OpKind::attention, OpKind::experts})
    for (const Partition how : {Partition::column, Partition::row}) {
      const auto parts = rule(kind, how);
      CHECK((parts.reads == Placement::replicate && parts.makes == Placement::replicate));
      CHECK((parts.partial_output && parts.partial_input_gradient && parts.weights));
    }
}

TEST_CASE("by samples and by tokens every operator does its own, with all of the weights") {
  for (int kind = 0; kind <= static_cast<int>(OpKind::experts); ++kind) {
    const auto batch = rule(static_cast<OpKind>(kind), Partition::batch),
               tokens = rule(static_cast<OpKind>(kind), Partition::sequence),
               whole = rule(static_cast<OpKind>(kind), Partition::whole);
    CHECK((batch.reads == Placement::shard_batch && batch.makes == Placement::shard_batch));
    CHECK((tokens.reads == Placement::shard_tokens && tokens.makes == Placement::shard_tokens));
    CHECK((whole.reads == Placement::replicate && whole.makes == Placement::replicate));
    for (const auto& each : {batch, tokens, whole})
      CHECK((!each.weights && !each.partial_output && !each.partial_input_gradient));
  }
}

TEST_CASE("an operator of a profile is a matrix if it has weights, and otherwise follows its input") {
  auto op = support::unit_op("p", 1e9, 1000);
  CHECK(layout::rule(op, Partition::row).partial_output);
  op.parameters = 0;
  CHECK(!layout::rule(op, Partition::row).partial_output);
  CHECK(layout::rule(op, Partition::row).makes == Placement::shard_features);
  op.frozen_parameters = 1000;
  CHECK(layout::rule(op, Partition::row).partial_output);
}

TEST_CASE("conversions: bytes that devices lack are bytes that they are sent, forward and back") {
  // A tensor of 1 kB on two devices. Forward counts the part that the new placement has and the old one had
  // not. Backward counts the same for gradients; of these, replicas have the whole sum each.
  const auto graph = support::matrices(3);
  const std::vector<Placement> all = {Placement::replicate, Placement::shard_batch, Placement::shard_features,
                                      Placement::shard_tokens};
  for (const Placement from : all)
    for (const Placement to : all) {
      const auto made = layout::convert(graph, OpId(1), from, to, OpId(2));
      const bool lacks = from != to && from != Placement::replicate;  // a shard is not the other one
      const bool gradient_lacks =
          from != to && to != Placement::replicate;  // the reader's gradient is in shards
      CHECK(made.forward.empty() == !lacks);
      CHECK(made.backward.empty() == !gradient_lacks);
    }
  for (const Placement to :
       all) {  // from another stage: whole tensors are gathered, shards taken as they are
    const auto made = layout::convert(graph, OpId(1), Placement::sharded, to, OpId(2));
    CHECK(made.forward.empty() == (to != Placement::replicate));
    CHECK(made.backward.empty());
  }
}
