#include "penstock/layout/lengths.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "penstock/graph/attention_core.hpp"
#include "penstock/graph/with_operators.hpp"

namespace penstock::layout {
namespace {

using core::Bytes;
using core::Flops;
using core::OpId;
using graph::OpKind;

/// Tokens that an operator processes according to its own attributes; 0: they do not determine it.
struct TokensOf {
  std::int64_t operator()(const auto&) const { return 0; }
  std::int64_t operator()(const graph::Linear& a) const { return a.rows; }
  std::int64_t operator()(const graph::Attention& a) const { return a.queries; }
  std::int64_t operator()(const graph::Embedding& a) const { return a.sum ? 0 : a.lookups; }
  std::int64_t operator()(const graph::Norm& a) const { return a.channels > 0 ? a.elements / a.channels : 0; }
  std::int64_t operator()(const graph::Softmax& a) const { return a.rows; }
  std::int64_t operator()(const graph::Concat& a) const {
    return a.rows > 1 ? a.rows : 0;
  }  // 1: the operation joins tokens
  std::int64_t operator()(const graph::Experts& a) const { return a.rows; }
  std::int64_t operator()(const graph::LinearScan& a) const { return a.rows; }
  std::int64_t operator()(const graph::ShortConvolution& a) const { return a.rows; }
};

/// True if the operator has as many tokens as what it reads or what reads it.
bool follows(const graph::OpGraph& graph, OpId id) {
  const graph::Operator& op = graph.op(id);
  if (op.kind == OpKind::activation || op.kind == OpKind::elementwise) return true;
  if (op.kind == OpKind::input || op.kind == OpKind::concat) return true;
  return op.kind == OpKind::reshape && op.output_bytes == graph.op(graph.operands(id).front()).output_bytes;
}

/// True for a view whose reader has `tokens` tokens, as many as its source: it shows a part of each of them.
bool shows_part_of_each(const graph::OpGraph& graph, OpId id, const std::vector<std::int64_t>& of,
                        std::int64_t tokens) {
  return graph.op(id).kind == OpKind::reshape && of[graph.operands(id).front().index()] == tokens;
}

/// [operator] tokens: by its attributes, else those of its first input, else those of a reader.
std::vector<std::int64_t> tokens_of_all(const graph::OpGraph& graph) {
  std::vector<std::int64_t> out;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const auto& operands = graph.operands(OpId(v));
    out.push_back(std::visit(TokensOf{}, graph.op(OpId(v)).attributes));
    const bool joins = graph.op(OpId(v)).kind == OpKind::concat;  // its parts have fewer tokens
    if (out[v] == 0 && !joins && !operands.empty() && follows(graph, OpId(v)))
      out[v] = out[operands.front().index()];
  }
  for (std::size_t v = graph.size(); v-- > 0;)
    for (const OpId read : graph.operands(OpId(v)))
      if (out[read.index()] == 0 && (follows(graph, read) || shows_part_of_each(graph, read, out, out[v])))
        out[read.index()] = out[v];
  return out;
}

/// Shrinks extents that count tokens.
class Shrink {
 public:
  Shrink(double tokens, double keys) : tokens_(tokens), keys_(keys) {}

  void operator()(auto&) const {}
  void operator()(graph::Elements& a) const { cut(a.elements, tokens_); }
  void operator()(graph::Linear& a) const { cut(a.rows, tokens_); }
  void operator()(graph::Embedding& a) const { cut(a.lookups, tokens_); }
  void operator()(graph::Norm& a) const { cut(a.elements, tokens_); }
  void operator()(graph::Activation& a) const { cut(a.elements, tokens_); }
  void operator()(graph::Elementwise& a) const { cut(a.elements, tokens_); }
  void operator()(graph::Softmax& a) const { cut(a.rows, tokens_); }
  void operator()(graph::Experts& a) const { cut(a.rows, tokens_); }
  void operator()(graph::LinearScan& a) const { cut(a.rows, tokens_); }
  void operator()(graph::ShortConvolution& a) const { cut(a.rows, tokens_); }
  void operator()(graph::Concat& a) const {
    cut(a.elements, tokens_);
    if (a.rows > 1) return cut(a.rows, tokens_);
    for (std::int64_t& width : a.widths) cut(width, tokens_);
  }
  /// Keys of another sequence, such as that of an encoder, do not shrink.
  void operator()(graph::Attention& a) const {
    const bool own = a.keys == a.queries;
    cut(a.queries, tokens_);
    if (!own) return;
    a.own_keys = a.projected_keys();
    cut(a.own_keys, tokens_);
    cut(a.keys, keys_);
    if (a.own_keys == a.keys) a.own_keys = 0;
  }

 private:
  static void cut(std::int64_t& extent, double share) {
    if (extent > 0) extent = std::max<std::int64_t>(1, std::llround(static_cast<double>(extent) * share));
  }
  double tokens_, keys_;
};

Bytes part(Bytes bytes, double share) {
  return Bytes(std::llround(static_cast<double>(bytes.value()) * share));
}

/// Attention's core scales with tokens and keys, its projections with tokens.
void shrink_flops(graph::Operator& op, double tokens, double keys) {
  const auto& a = as<graph::Attention>(op);
  const double core = a.keys == a.queries ? op.forward_flops.value() * graph::core_share(op) : 0;
  const auto cut = [&](Flops flops, double inside) {
    inside = std::min(inside, flops.value());
    return Flops((flops.value() - inside) * tokens + inside * tokens * keys);
  };
  op.forward_flops = cut(op.forward_flops, core);
  op.input_gradient_flops = cut(op.input_gradient_flops, 2 * core);
  op.weight_gradient_flops = cut(op.weight_gradient_flops, 0);
}

void shrink(graph::Operator& op, double tokens, double keys) {
  shrink_flops(op, tokens, keys);
  std::visit(Shrink(tokens, keys), op.attributes);
  op.gathered_parameters = std::llround(static_cast<double>(op.gathered_parameters) * tokens);
  op.output_bytes = part(op.output_bytes, tokens);
  op.saved_bytes = part(op.saved_bytes, tokens);
}

/// Shrinks a core that consists of separate operators: scores and their softmax are tokens x keys.
void shrink_split_core(std::vector<graph::Operator>& operators, const std::vector<OpId>& core,
                       std::int64_t sequence, double tokens, double keys) {
  for (const OpId id : core) {
    graph::Operator& op = operators[id.index()];
    const bool context = id == core.back();
    for (Flops* flops : {&op.forward_flops, &op.input_gradient_flops, &op.weight_gradient_flops})
      *flops = *flops * (tokens * keys);
    op.output_bytes = part(op.output_bytes, context ? tokens : tokens * keys);
    op.saved_bytes = part(op.saved_bytes, context ? tokens : tokens * keys);
    const auto cut = [&](std::int64_t& extent, double share) {
      extent = std::max<std::int64_t>(1, std::llround(static_cast<double>(extent) * share));
    };
    if (auto* product = std::get_if<graph::Matmul>(&op.attributes); product && product->rows == sequence) {
      cut(product->rows, tokens);
      cut(context ? product->inner : product->columns, keys);
    }
    if (auto* shares = std::get_if<graph::Softmax>(&op.attributes)) {
      cut(shares->rows, tokens);
      cut(shares->width, keys);
    }
  }
}

/// Split cores with both queries and keys from the sequence.
std::vector<std::vector<OpId>> split_cores_over(const graph::OpGraph& graph, std::int64_t sequence) {
  std::vector<OpId> all;
  for (std::size_t v = 0; v < graph.size(); ++v) all.emplace_back(v);
  auto cores = graph::split_cores(graph, all);
  std::erase_if(cores, [&](const auto& core) {
    const auto& scores = as<graph::Matmul>(graph.op(core.front()));
    return scores.rows != sequence || scores.columns != sequence;
  });
  return cores;
}

}  // namespace

std::int64_t sequence(const graph::OpGraph& graph) {
  std::int64_t longest = 0;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const OpId id(v);
    longest = std::max(longest, as<graph::Attention>(graph.op(id)).queries);
    longest = std::max(longest, as<graph::LinearScan>(graph.op(id)).rows);
    if (graph.op(id).kind != OpKind::softmax) continue;
    for (const OpId read : graph.operands(id))
      longest = std::max(longest, as<graph::Matmul>(graph.op(read)).rows);
  }
  return longest;
}

std::vector<bool> over_sequence(const graph::OpGraph& graph) {
  const std::int64_t length = sequence(graph);
  std::vector<bool> out;
  for (const std::int64_t tokens : tokens_of_all(graph)) out.push_back(length > 0 && tokens == length);
  for (const auto& core : split_cores_over(graph, length))
    for (const OpId id : core) out[id.index()] = true;
  return out;
}

Bytes sequence_bytes(const graph::OpGraph& graph, const plan::StageGraph& stages,
                     const plan::Boundary& boundary) {
  const auto over = over_sequence(graph);
  Bytes sum;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    if (!over[v] || !stages.runs(boundary.from, OpId(v))) continue;
    const auto readers = graph.dag().successors(static_cast<graph::Vertex>(v));
    if (std::ranges::any_of(readers, [&](graph::Vertex reader) {
          return stages.runs(boundary.to, OpId(static_cast<std::size_t>(reader)));
        }))
      sum += graph.op(OpId(v)).output_bytes;
  }
  return sum;
}

graph::OpGraph shortened(const graph::OpGraph& graph, const Fill& fill) {
  const std::int64_t length = sequence(graph);
  const double t = fill.tokens / static_cast<double>(length), k = fill.keys / static_cast<double>(length);
  std::vector<bool> over = over_sequence(graph);
  std::vector<graph::Operator> operators = graph.operators();
  for (const auto& core : split_cores_over(graph, length)) {
    shrink_split_core(operators, core, length, t, k);
    for (const OpId id : core) over[id.index()] = false;
  }
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (over[v]) shrink(operators[v], t, k);
  return graph::with_operators(graph, std::move(operators));
}

}  // namespace penstock::layout
