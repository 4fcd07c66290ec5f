#include "penstock/cost/op_shard.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::cost {
namespace {

/// Takes its share of what a part has less of.
struct Divide {
  double share;
  bool row;     ///< of matrices: of what they read
  bool tokens;  ///< of mixtures: of their rows
  bool whole_known = true;

  /// At least one is left.
  void operator()(std::int64_t& extent) {
    whole_known &= extent > 0;
    extent = std::max<std::int64_t>(1, std::llround(static_cast<double>(extent) * share));
  }
  void operator()(graph::Linear& a) { (*this)(row ? a.in : a.out); }
  void operator()(graph::Convolution& a) { (*this)(row ? a.window.channels : a.out); }
  void operator()(graph::Attention& a) {
    (*this)(a.hidden), (*this)(a.heads);
    for (std::int64_t* extent : {&a.kv_heads, &a.inner})
      if (*extent > 0) (*this)(*extent);
  }
  void operator()(graph::Experts& a) { (*this)(tokens ? a.rows : a.inner); }
  void operator()(graph::LinearScan& a) {
    (*this)(a.heads);
    if (a.groups > 0) (*this)(a.groups);
  }
  void operator()(graph::ShortConvolution& a) { (*this)(a.channels); }
  void operator()(graph::Embedding& a) { (*this)(a.rows); }
  void operator()(graph::Activation& a) { (*this)(a.elements); }
  void operator()(graph::Elementwise& a) { (*this)(a.elements); }
  void operator()(auto&) { whole_known = false; }
};

core::Bytes scaled(core::Bytes bytes, double share) {
  return core::Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.value()) * share));
}

}  // namespace

std::optional<graph::Attributes> divided(const graph::Operator& op, const OpShard& part) {
  graph::Attributes out = op.attributes;
  Divide divide{part.part, part.partition == plan::Partition::row,
                part.partition == plan::Partition::sequence};
  std::visit(divide, out);
  return divide.whole_known ? std::optional(out) : std::nullopt;
}

Work shard_work(const graph::OpGraph& graph, core::OpId id, cluster::Precision precision,
                const OpShard& part) {
  Work work = work_of(graph, id, precision);
  if (part.partition == plan::Partition::whole) return work;
  const graph::Operator& op = graph.op(id);
  double read = 0;
  for (graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index())))
    read += static_cast<double>(graph.op(core::OpId(static_cast<std::size_t>(v))).output_bytes.value());
  const double written = static_cast<double>(op.output_bytes.value());
  const double gathered = static_cast<double>(op.gathered_parameters * graph.element_bytes());
  const double whole = read + written + gathered;
  const double kept = read * (part.whole_input ? 1 : part.part) +
                      written * (part.whole_output ? 1 : part.part) + gathered * part.part;
  for (core::Flops& flops : work.flops) flops = flops * part.part;
  if (whole > 0) work.moved = scaled(work.moved, kept / whole);
  if (part.partition != plan::Partition::sequence) work.weights = scaled(work.weights, part.part);
  return work;
}

}  // namespace penstock::cost
