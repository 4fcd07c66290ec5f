#pragma once
// The two-branch CLIP graph behind GraphPipe's published optimizer logs, with the costs the logs imply. Image
// branch: patch convolution, some views, 24 x (attention, dense, dense) on 196 x 1024 numbers. Text branch:
// 12 x (attention, dense, dense) on 76 x 512; a join. Every operator keeps its output, views included.

#include "penstock/graph/graph_builder.hpp"
#include "support/fixed_costs.hpp"

namespace penstock::support {

/// Differences between the logs' versions of the graph (derived from their activation column).
struct ClipLogShape {
  int image_views = 0;
  int text_views = 0;
  bool join_has_output = true;
};

struct ClipLog {
  graph::OpGraph graph;
  std::vector<core::OpId> image;  ///< input, convolution, views, then 72 layers
  std::vector<core::OpId> text;   ///< input, views, then 36 layers
  core::OpId join;
};

inline ClipLog clip_log(const ClipLogShape& shape) {
  graph::GraphBuilder b("clip");
  const auto add = [&](const std::string& name, std::int64_t bytes, std::int64_t parameters,
                       std::vector<core::OpId> inputs) {
    graph::Operator op;
    op.name = name;
    op.kind = graph::OpKind::profiled;
    op.output_bytes = op.saved_bytes = core::Bytes(bytes);
    op.parameters = parameters;
    return b.add(op, inputs);
  };
  const auto branch = [&](const std::string& name, int layers, std::int64_t tensor, std::int64_t hidden,
                          std::vector<core::OpId> ops, int views) {
    for (int v = 0; v < views; ++v)
      ops.push_back(add(name + "_view" + std::to_string(v), tensor, 0, {ops.back()}));
    for (int l = 0; l < layers; ++l) {
      const std::string layer = name + std::to_string(l);
      ops.push_back(add(layer + "_attention", tensor, 4 * hidden * hidden, {ops.back()}));
      ops.push_back(add(layer + "_dense0", tensor, hidden * hidden, {ops.back()}));
      ops.push_back(add(layer + "_dense1", tensor, hidden * hidden, {ops.back()}));
    }
    return ops;
  };
  constexpr std::int64_t kImage = 196 * 1024 * 4, kText = 76 * 512 * 4;
  ClipLog out{graph::OpGraph(), {}, {}, {}};
  const auto pixels = add("image", 3 * 224 * 224 * 4, 0, {});
  out.image = branch("image", 24, kImage, 1024, {pixels, add("patch", kImage, 16 * 16 * 3 * 1024, {pixels})},
                     shape.image_views);
  out.text = branch("text", 12, kText, 512, {add("text", kText, 0, {})}, shape.text_views);
  out.join = add("join", shape.join_has_output ? kImage : 0, 0, {out.image.back(), out.text.back()});
  out.graph = b.build();
  return out;
}

}  // namespace penstock::support
