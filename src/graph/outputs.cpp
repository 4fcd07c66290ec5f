#include "outputs.hpp"

#include <algorithm>

namespace penstock::graph {
namespace {

using core::OpId;
using Axes = std::vector<TensorAxis>;

constexpr double kMostElements = 1e15;  ///< as of extents in files

Axes image(const Window& w, std::int64_t channels) {
  for (const std::size_t axis : {0, 1})
    if (w.stride[axis] == 0) return {};
  return {{AxisRole::height, w.output(0)}, {AxisRole::width, w.output(1)}, {AxisRole::features, channels}};
}

/// Axes of what each kind makes; an extent of zero is not stated.
struct AxesOf {
  Axes operator()(const std::monostate&) { return {}; }
  Axes operator()(const Elements& a) { return {{AxisRole::elements, a.elements}}; }
  /// Row by row.
  Axes operator()(const auto& a) { return {{AxisRole::rows, a.rows}, {AxisRole::features, a.features()}}; }
  Axes operator()(const Attention& a) {
    return {{AxisRole::rows, a.queries}, {AxisRole::features, a.hidden}};
  }
  Axes operator()(const Embedding& a) {
    return {{AxisRole::rows, a.sum ? std::min<std::int64_t>(a.lookups, 1) : a.lookups},
            {AxisRole::features, a.width}};
  }
  Axes operator()(const Convolution& a) { return image(a.window, a.out); }
  Axes operator()(const Matmul& a) {
    return {{AxisRole::matrices, a.batch}, {AxisRole::rows, a.rows}, {AxisRole::features, a.columns}};
  }
  Axes operator()(const Norm& a) {
    return {{AxisRole::rows, a.channels > 0 ? a.elements / a.channels : 0}, {AxisRole::features, a.channels}};
  }
  Axes operator()(const Activation& a) { return {{AxisRole::elements, a.elements}}; }
  Axes operator()(const Elementwise& a) { return {{AxisRole::elements, a.elements}}; }
  Axes operator()(const Pool& a) { return image(a.window, a.window.channels); }
};

/// All extents are stated, and their product can be counted.
bool said(const Axes& axes) {
  double count = axes.empty() ? 0 : 1;
  for (const TensorAxis& axis : axes) count *= static_cast<double>(std::max<std::int64_t>(0, axis.extent));
  return count > 0 && count <= kMostElements;
}

/// [operator] true if a table is looked up by it, or by a view of it.
std::vector<bool> pointing_at_rows(const OpGraph& graph) {
  std::vector<bool> out(graph.size());
  for (std::size_t v = graph.size(); v-- > 0;)
    out[v] = std::ranges::any_of(graph.dag().successors(static_cast<Vertex>(v)), [&](Vertex reader) {
      const auto r = static_cast<std::size_t>(reader);
      const OpKind kind = graph.op(OpId(r)).kind;
      return kind == OpKind::embedding || (kind == OpKind::reshape && out[r]);
    });
  return out;
}

/// Output of the operator by its own attributes.
Tensor stated(const Operator& op) {
  Tensor made{std::visit(AxesOf{}, op.attributes), DType::number};
  return said(made.axes) ? made : Tensor{{{AxisRole::elements, op.output_bytes.value()}}, DType::byte};
}

/// Adds what follows from the first tensor it reads.
void follow(Tensor& made, const Tensor& read, OpKind kind) {
  const bool number_by_number = kind == OpKind::activation || kind == OpKind::elementwise;
  if (made.dtype == DType::byte || read.dtype == DType::byte) return;
  if (number_by_number && made.count() == read.count()) made.axes = read.axes;
  if (kind == OpKind::reshape) made.dtype = read.dtype;
}

}  // namespace

std::vector<Tensor> outputs(const OpGraph& graph) {
  const std::vector<bool> pointing = pointing_at_rows(graph);
  std::vector<Tensor> out;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const Operator& op = graph.op(OpId(v));
    const auto& operands = graph.operands(OpId(v));
    Tensor made = stated(op);
    if (op.kind == OpKind::input && pointing[v] && made.dtype == DType::number) made.dtype = DType::index;
    if (!operands.empty()) follow(made, out[operands[0].index()], op.kind);
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace penstock::graph
