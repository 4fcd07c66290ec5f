#include "penstock/layout/context.hpp"

#include <fmt/format.h>

#include "penstock/core/error.hpp"
#include "penstock/graph/with_operators.hpp"

namespace penstock::layout {
namespace {

using core::Bytes;
using core::OpId;

/// Divides the extents that count tokens, or rows of tokens; keeps the first reason why an extent cannot be
/// divided.
class ByTokens {
 public:
  explicit ByTokens(std::int64_t ways) : ways_(ways) {}
  const std::optional<std::string>& why_not() const { return why_not_; }

  void operator()(graph::Elements& a) { cut(a.elements, "elements"); }
  void operator()(graph::Linear& a) { cut(a.rows, "rows"); }
  void operator()(graph::Attention& a) {
    cut(a.queries, "queries");
    a.own_keys = a.projected_keys();
    cut(a.own_keys, "keys");
  }
  void operator()(graph::Embedding& a) {
    if (a.sum) refuse("adds up what it looks up");
    cut(a.lookups, "lookups");
  }
  void operator()(graph::Norm& a) {
    if (a.form == graph::NormForm::batch) refuse("takes its statistics over all tokens");
    cut(a.elements, "elements");
  }
  void operator()(graph::Activation& a) { cut(a.elements, "elements"); }
  void operator()(graph::Elementwise& a) { cut(a.elements, "elements"); }
  void operator()(graph::Softmax& a) { cut(a.rows, "rows"); }
  void operator()(graph::Experts& a) { cut(a.rows, "rows"); }
  void operator()(graph::Concat& a) { cut(a.elements, "elements"), cut(a.rows, "rows"); }
  void operator()(graph::LinearScan&) { refuse("hands its state from token to token, in order"); }
  void operator()(graph::ShortConvolution&) { refuse("reads the tokens before each token"); }
  void operator()(auto&) { refuse("has no axis of tokens"); }

 private:
  void refuse(std::string why) {
    if (!why_not_) why_not_ = std::move(why);
  }
  void cut(std::int64_t& extent, std::string_view what) {
    if (extent == 0) refuse(fmt::format("does not say its {}", what));
    if (extent % ways_ != 0)
      refuse(fmt::format("has {} {}, which {} groups do not divide", extent, what, ways_));
    extent /= ways_;
  }

  std::int64_t ways_;
  std::optional<std::string> why_not_;
};

/// True unless the operator is a view of a part of its source.
bool shows_all(const graph::OpGraph& graph, OpId id) {
  if (graph.op(id).kind != graph::OpKind::reshape) return true;
  const OpId source = graph.operands(id).front();
  return graph.op(id).output_bytes == graph.op(source).output_bytes;
}

Bytes part(Bytes bytes, std::int64_t ways) {
  return Bytes((bytes.value() + ways - 1) / ways);
}

/// Ulysses: each device has whole heads, so the groups must divide them.
std::optional<std::string> head_violation(const graph::Operator& op, const plan::Stage& stage) {
  if (stage.context_exchange != plan::ContextExchange::ulysses || op.kind != graph::OpKind::attention)
    return {};
  const auto& a = as<graph::Attention>(op);
  for (const std::int64_t heads : {a.heads, a.kv_heads == 0 ? a.heads : a.kv_heads})
    if (heads % stage.replica_size() != 0)
      return fmt::format("has {} heads, which {} devices do not divide", heads, stage.replica_size());
  return {};
}

}  // namespace

std::optional<std::string> token_violation(const graph::OpGraph& graph, OpId id, int context) {
  graph::Attributes attributes = graph.op(id).attributes;
  ByTokens divide(context);
  std::visit(divide, attributes);
  if (divide.why_not()) return divide.why_not();
  if (!shows_all(graph, id)) return "shows some of the tokens only";
  return {};
}

graph::Operator token_shard(const graph::Operator& op, int context) {
  graph::Operator out = op;
  std::visit(ByTokens(context), out.attributes);
  const double share = 1.0 / context;
  for (core::Flops* flops : {&out.forward_flops, &out.input_gradient_flops, &out.weight_gradient_flops})
    *flops = *flops * share;
  out.gathered_parameters = (op.gathered_parameters + context - 1) / context;
  out.output_bytes = part(op.output_bytes, context);
  out.saved_bytes = part(op.saved_bytes, context);
  return out;
}

graph::OpGraph local_graph(const graph::OpGraph& graph, int context) {
  std::vector<graph::Operator> operators;
  for (const graph::Operator& op : graph.operators()) operators.push_back(token_shard(op, context));
  return graph::with_operators(graph, std::move(operators));
}

ContextTensors context_tensors(const graph::Operator& op, int element_bytes) {
  if (op.kind != graph::OpKind::attention) return {};
  const auto& a = as<graph::Attention>(op);
  const auto bytes = [&](std::int64_t numbers) { return Bytes(numbers * element_bytes); };
  return {bytes(a.queries * a.inner_width()),
          bytes(a.projected_keys() * (a.shared_width() + a.values_width())),
          bytes(a.queries * a.result_width())};
}

Collectives context_collectives(OpId op, const ContextTensors& tensors, plan::ContextExchange exchange) {
  using Kind = GroupCollective::Kind;
  Collectives out;
  const auto one = [&](Kind kind, Bytes bytes, bool before) {
    return GroupCollective{kind, op, bytes, before, Among::context, kind == Kind::all_gather && !before};
  };
  if (exchange == plan::ContextExchange::all_gather) {
    out.forward = {one(Kind::all_gather, tensors.keys_values, true)};
    out.backward = {one(Kind::all_gather, tensors.keys_values, true),
                    one(Kind::all_gather, tensors.keys_values, false)};
  } else if (exchange == plan::ContextExchange::ulysses) {
    const auto traded = [&](bool inputs_first) {
      return std::vector{one(Kind::all_to_all, tensors.queries, inputs_first),
                         one(Kind::all_to_all, tensors.keys_values, inputs_first),
                         one(Kind::all_to_all, tensors.output, !inputs_first)};
    };
    out = {traded(true), traded(false)};
  }
  return out;
}

std::vector<std::string> context_violations(const graph::OpGraph& graph, const plan::Plan& plan) {
  std::vector<std::string> out;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    if (stage.context_parallel == 1) continue;
    for (const OpId id : stage.operators) {
      auto why = token_violation(graph, id, stage.context_parallel);
      if (!why) why = head_violation(graph.op(id), stage);
      if (why)
        out.push_back(fmt::format("stage {}: `context_parallel` divides tokens, and '{}' {}", s,
                                  graph.op(id).name, *why));
    }
  }
  return out;
}

}  // namespace penstock::layout
