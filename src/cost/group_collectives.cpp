#include "group_collectives.hpp"

#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "weight_parts.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using core::OpId;
using layout::Among;
using layout::Collectives;
using layout::GroupCollective;
using Kind = layout::GroupCollective::Kind;

/// What an operator asks one kind of groups for, next to it.
class Around {
 public:
  Around(Collectives& all, Among among, OpId op) : all_(all), among_(among), op_(op) {}
  void forward(Kind kind, Bytes bytes, bool before) { add(all_.forward, {kind, op_, bytes, before, among_}); }
  void backward(Kind kind, Bytes bytes, bool before) {
    add(all_.backward, {kind, op_, bytes, before, among_});
  }

 private:
  /// Behind all others before the operator, ahead of all others after it.
  static void add(std::vector<GroupCollective>& list, const GroupCollective& collective) {
    if (collective.bytes == Bytes(0)) return;
    list.insert(collective.before ? list.end() : list.begin(), collective);
  }
  Collectives& all_;
  Among among_;
  OpId op_;
};

void add_context(Around around, plan::ContextExchange exchange, const layout::ContextTensors& tensors) {
  if (exchange == plan::ContextExchange::all_gather) {
    around.forward(Kind::all_gather, tensors.keys_values, true);
    around.backward(Kind::all_gather, tensors.keys_values, true);
    around.backward(Kind::all_gather, tensors.keys_values, false);  // a reduce-scatter of gradients
  } else if (exchange == plan::ContextExchange::ulysses) {
    for (const Bytes read : {tensors.queries, tensors.keys_values}) {
      around.forward(Kind::all_to_all, read, true);
      around.backward(Kind::all_to_all, read, false);
    }
    around.forward(Kind::all_to_all, tensors.output, false);
    around.backward(Kind::all_to_all, tensors.output, true);
  }
}

void add_experts(Around around, Bytes rows, bool trains) {
  for (const bool dispatch : {true, false}) {
    around.forward(Kind::all_to_all, rows, dispatch);
    if (trains) around.backward(Kind::all_to_all, rows, dispatch);
  }
}

layout::ContextTensors of_largest(const layout::ContextTensors& each, plan::Partition how, double part) {
  const auto cut = [&](Bytes bytes) {
    return how == plan::Partition::whole ? bytes : rounded_up(bytes, part);
  };
  return {cut(each.queries), cut(each.keys_values), cut(each.output)};
}

}  // namespace

Collectives group_collectives(const Problem& whole, const Problem& local, const plan::Stage& stage,
                              const std::map<OpId, plan::Partition>& how) {
  Collectives out;
  if (stage.tensor_parallel > 1) out = layout::infer(local.graph, stage).collectives;
  for (const OpId id : stage.operators) {
    if (stage.context_parallel > 1) {
      const auto tensors = layout::context_tensors(whole.graph.op(id), whole.graph.element_bytes());
      add_context(Around(out, Among::context, id), stage.context_exchange,
                  of_largest(tensors, partition_of(how, id), largest_part(stage)));
    }
    if (stage.expert_parallel > 1) {
      const graph::Operator& op = local.graph.op(id);
      const Bytes rows = layout::copied_rows(op, local.graph.element_bytes()) * stage.expert_parallel;
      add_experts(Around(out, Among::experts, id), rows, op.input_gradient_flops.value() > 0);
    }
  }
  return out;
}

}  // namespace penstock::cost
