#include "group_collectives.hpp"

#include <algorithm>
#include <iterator>

#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "weight_parts.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using core::OpId;
using layout::GroupCollective;
using layout::GroupCollectives;

using List = std::vector<GroupCollective>;

/// Inner collectives before an operator run behind all `outer` ones before it, those after it ahead of all
/// outer ones.
List inside(const List& outer, const List& inner) {
  List out;
  const auto add = [&](const List& list, bool before) {
    std::ranges::copy_if(list, std::back_inserter(out), [&](const GroupCollective& each) {
      return each.before == before && each.bytes > Bytes(0);
    });
  };
  add(inner, false);
  out.insert(out.end(), outer.begin(), outer.end());
  add(inner, true);
  return out;
}

/// On the device of a tensor-parallel group that has the largest part.
layout::ContextTensors of_largest(const layout::ContextTensors& each, plan::Partition how, double part) {
  const auto cut = [&](Bytes bytes) {
    return how == plan::Partition::whole ? bytes : rounded_up(bytes, part);
  };
  return {cut(each.queries), cut(each.keys_values), cut(each.output)};
}

}  // namespace

GroupCollectives group_collectives(const Problem& whole, const Problem& local, const plan::Stage& stage,
                                   const std::map<OpId, plan::Partition>& how) {
  GroupCollectives inner;
  for (const OpId id : stage.operators) {
    const graph::Operator& op = whole.graph.op(id);
    const int bytes = whole.graph.element_bytes();
    if (stage.context_parallel > 1) {
      const auto tensors = layout::context_tensors(op, bytes);
      inner.add(layout::context_collectives(
          id, of_largest(tensors, partition_of(how, id), largest_part(stage)), stage.context_exchange));
    }
    if (stage.expert_parallel > 1)
      inner.add(layout::expert_collectives(id, layout::copied_rows(op, bytes) / stage.context_parallel, stage,
                                           partition_of(how, id), op.input_gradient_flops.value() > 0));
  }
  if (stage.tensor_parallel == 1) return {inside({}, inner.forward), inside({}, inner.backward)};
  const GroupCollectives outer = layout::infer(local.graph, stage).collectives;
  return {inside(outer.forward, inner.forward), inside(outer.backward, inner.backward)};
}

}  // namespace penstock::cost
