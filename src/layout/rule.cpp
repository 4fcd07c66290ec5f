#include "penstock/layout/rule.hpp"

namespace penstock::layout {
namespace {

using graph::OpKind;
using plan::Partition;

constexpr Rule kColumns{.makes = Placement::shard_features, .partial_input_gradient = true};
constexpr Rule kRows{.reads = Placement::shard_features, .partial_output = true};
constexpr Rule kHeads{.partial_output = true, .partial_input_gradient = true};
constexpr Rule kFeatures{
    .reads = Placement::shard_features, .makes = Placement::shard_features, .weights = WeightAxis::first};

constexpr Rule with(Rule rule, WeightAxis axis) {
  rule.weights = axis;
  return rule;
}

/// Rule of a column-parallel or row-parallel operator.
Rule by_features(const graph::Operator& op, bool columns) {
  switch (op.kind) {
    case OpKind::profiled:
      if (op.parameters + op.frozen_parameters == 0) return kFeatures;
      [[fallthrough]];  // treated as a matrix
    case OpKind::linear:
    case OpKind::convolution:
      return columns ? with(kColumns, WeightAxis::first) : with(kRows, WeightAxis::last);
    case OpKind::embedding:
      return columns ? with(kColumns, WeightAxis::last) : with(kRows, WeightAxis::first);
    case OpKind::attention:
    case OpKind::experts:  // each expert is a feed-forward: first matrices by columns, last one by rows
      return with(kHeads, WeightAxis::first);
    case OpKind::scan:  // by heads
    case OpKind::short_convolution:
    case OpKind::norm:
    case OpKind::input:
    case OpKind::matmul:
    case OpKind::activation:
    case OpKind::elementwise:
    case OpKind::pool:
    case OpKind::softmax:
    case OpKind::concat:
    case OpKind::reshape:
      break;
  }
  return kFeatures;
}

}  // namespace

Rule rule(const graph::Operator& op, Partition how) {
  switch (how) {
    case Partition::whole:
      return {};
    case Partition::batch:
      return {.reads = Placement::shard_batch, .makes = Placement::shard_batch};
    case Partition::sequence:
      return {.reads = Placement::shard_tokens, .makes = Placement::shard_tokens};
    case Partition::column:
      return by_features(op, true);
    case Partition::row:
      break;
  }
  return by_features(op, false);
}

}  // namespace penstock::layout
