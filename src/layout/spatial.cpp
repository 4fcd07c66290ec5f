#include "penstock/layout/spatial.hpp"

#include <fmt/format.h>

#include <optional>

#include "penstock/graph/graph_builder.hpp"

namespace penstock::layout {
namespace {

using core::Bytes;
using core::OpId;

/// Divides the extents that count rows of an image, or what is in them.
struct ByRows {
  std::int64_t ways;
  bool divides = true;
  void cut(std::int64_t& extent) {
    divides = divides && extent > 0 && extent % ways == 0;
    extent /= ways;
  }
  void operator()(graph::Elements& a) { cut(a.elements); }
  void operator()(graph::Activation& a) { cut(a.elements); }
  void operator()(graph::Elementwise& a) { cut(a.elements); }
  void operator()(graph::Convolution& a) { cut(a.window.image[0]); }
  void operator()(graph::Pool& a) { cut(a.elements), cut(a.window.image[0]); }
  void operator()(auto&) { divides = false; }
};

const graph::Window* window(const graph::Operator& op) {
  if (const auto* convolution = std::get_if<graph::Convolution>(&op.attributes)) return &convolution->window;
  if (const auto* pool = std::get_if<graph::Pool>(&op.attributes)) return &pool->window;
  return nullptr;
}

graph::Operator spatial_shard(const graph::Operator& op, int spatial) {
  graph::Operator out = op;
  ByRows divide{spatial};
  std::visit(divide, out.attributes);
  for (core::Flops* flops : {&out.forward_flops, &out.input_gradient_flops, &out.weight_gradient_flops})
    *flops = *flops * (1.0 / spatial);
  for (Bytes* bytes : {&out.output_bytes, &out.saved_bytes})
    *bytes = Bytes((bytes->value() + spatial - 1) / spatial);
  return out;
}

}  // namespace

graph::OpGraph spatial_graph(const graph::OpGraph& graph, int spatial) {
  graph::GraphBuilder builder(graph.name(), graph.element_bytes());
  for (std::size_t v = 0; v < graph.size(); ++v)
    builder.add(spatial_shard(graph.op(OpId(v)), spatial), graph.operands(OpId(v)));
  if (!graph.operands_ordered()) builder.forget_operand_order();
  return builder.build();
}

Collectives border_collectives(const graph::OpGraph& graph, OpId op, const plan::Stage& stage) {
  const graph::Window* w = window(graph.op(op));
  if (w == nullptr || w->kernel[0] <= w->stride[0]) return {};
  const std::int64_t rows = (w->kernel[0] - w->stride[0]) * stage.spatial_parallel;
  const Bytes borders(rows * w->image[1] * w->channels * graph.element_bytes());
  const auto one = [&](bool before) {
    return GroupCollective{GroupCollective::Kind::all_gather, op, borders, before, Among::spatial};
  };
  return {{one(true)}, {one(false)}};
}

std::vector<std::string> spatial_violations(const graph::OpGraph& graph, const plan::Plan& plan) {
  std::vector<std::string> out;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const int spatial = plan.stages[s].spatial_parallel;
    for (const OpId id : plan.stages[s].operators) {
      graph::Attributes attributes = graph.op(id).attributes;
      ByRows divide{spatial};
      std::visit(divide, attributes);
      if (spatial > 1 && !divide.divides)
        out.push_back(fmt::format("stage {}: `spatial_parallel`: '{}' has no rows that {} groups divide", s,
                                  graph.op(id).name, spatial));
    }
  }
  return out;
}

}  // namespace penstock::layout
