#include "models/quantized.hpp"

#include <algorithm>
#include <vector>

#include "models/product_layers.hpp"
#include "penstock/graph/adapters.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "penstock/graph/in_place.hpp"

namespace penstock::models {
namespace {

using core::Bytes;
using core::OpId;
using graph::Operator;
using graph::OpKind;
using graph::ProductFormat;

/// Gradients that read a tensor.
struct TensorReaders {
  bool stored = false;     ///< as it is
  bool quantized = false;  ///< its copy in the format of products
};

class QuantizedModel {
 public:
  QuantizedModel(const graph::OpGraph& graph, ProductFormat format)
      : graph_(graph), format_(format), multiplies_(product_layers(graph)), readers_(graph.size()) {
    for (std::size_t v = graph.size(); v-- > 0;) find_readers(OpId(v));
  }

  Operator op(OpId id) const {
    Operator out = graph_.op(id);
    if (multiplies(id)) out.products = format_;
    const Bytes output = std::min(out.output_bytes, out.saved_bytes);
    const TensorReaders& readers = readers_[id.index()];
    if (output.value() > 0 && readers.quantized)
      out.saved_bytes += quantized(output) - (readers.stored ? Bytes(0) : output);
    if (multiplies(id) && graph::trains_products(out)) out.saved_bytes += operands(out);
    return out;
  }

 private:
  bool multiplies(OpId id) const { return multiplies_[id.index()]; }

  Bytes quantized(Bytes stored) const {
    return graph::quantized_bytes(format_, stored.value() / graph_.element_bytes());
  }

  /// More bytes saved within the operator. Experts save copied rows, and what the last products read, in the
  /// format. Attention saves its context in the format. A flash core's gradient reads the 16-bit one too.
  Bytes operands(const Operator& op) const {
    const std::int64_t each = graph_.element_bytes();
    if (const auto& e = as<graph::Experts>(op); op.kind == OpKind::experts) {
      const Bytes rows(e.rows * e.chosen * (e.hidden + e.inner) * each);
      return quantized(rows) - rows;
    }
    const auto& a = as<graph::Attention>(op);
    const Bytes context(a.queries * a.result_width() * each);
    if (op.kind != OpKind::attention) return {};
    return quantized(context) - (a.core == graph::AttentionCore::flash ? Bytes(0) : context);
  }

  /// True if an operator's own gradients read its operand as it is stored.
  bool reads_stored(const Operator& op) const {
    switch (op.kind) {
      case OpKind::elementwise:
        return as<graph::Elementwise>(op).product;
      case OpKind::concat:
      case OpKind::softmax:  // reads its output
      case OpKind::reshape:
        return false;
      default:
        return true;
    }
  }

  void find_readers(OpId id) {
    TensorReaders& mine = readers_[id.index()];
    const Operator& op = graph_.op(id);
    mine.stored =
        op.kind == OpKind::softmax ||
        (op.kind == OpKind::activation && graph::follows_from_output(as<graph::Activation>(op).function)) ||
        as<graph::Linear>(op).function != graph::Function::none;
    for (const graph::Vertex v : graph_.dag().successors(static_cast<graph::Vertex>(id.index()))) {
      const OpId reader(static_cast<std::size_t>(v));
      const Operator& next = graph_.op(reader);
      // Views, and sums written over their operand, pass on what their own readers read.
      if (next.kind == OpKind::reshape || next.saved_bytes.value() == 0) {
        mine.stored |= readers_[v].stored;
        mine.quantized |= readers_[v].quantized;
      }
      const bool rows_of_experts = next.kind == OpKind::experts && graph_.operands(reader)[0] == id;
      if (rows_of_experts) continue;  // these copy them
      const bool products = next.kind == OpKind::linear || next.kind == OpKind::attention;
      if (products && multiplies(reader)) {
        mine.quantized |= graph::trains_products(next);  // only the weight gradient reads it
        mine.stored |= next.adapter_rank > 0;            // adapters multiply in the stored numbers
      } else {
        mine.stored |= reads_stored(next);
      }
    }
  }

  const graph::OpGraph& graph_;
  ProductFormat format_;
  std::vector<bool> multiplies_;        ///< [operator]
  std::vector<TensorReaders> readers_;  ///< [operator]
};

}  // namespace

graph::OpGraph quantized(const graph::OpGraph& graph, ProductFormat format) {
  if (format == ProductFormat::stored) return graph;
  const QuantizedModel model(graph, format);
  graph::GraphBuilder out(graph.name(), graph.element_bytes());
  for (std::size_t v = 0; v < graph.size(); ++v) out.add(model.op(OpId(v)), graph.operands(OpId(v)));
  return out.build();
}

}  // namespace penstock::models
