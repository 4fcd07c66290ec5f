#pragma once
// Tiny graphs and clusters that a test can draw in a comment.

#include <string>
#include <vector>

#include "penstock/cluster/cluster.hpp"
#include "penstock/graph/graph_builder.hpp"

namespace penstock::support {

/// An operator of 1 kB output (kept), `work` FLOPs forward and twice that backward, `parameters` weights.
inline graph::Operator unit_op(const std::string& name, double work = 1e9, std::int64_t parameters = 0) {
  graph::Operator op;
  op.name = name;
  op.kind = graph::OpKind::profiled;
  op.forward_flops = op.input_gradient_flops = op.weight_gradient_flops = core::Flops(work);
  op.parameters = parameters;
  op.output_bytes = op.saved_bytes = core::Bytes(1000);
  return op;
}

/// Operators named a, b, c, ... with the given edges (positions).
inline graph::OpGraph tiny_graph(std::size_t size, const std::vector<std::pair<int, int>>& edges,
                                 const std::vector<double>& work = {}) {
  graph::GraphBuilder builder("tiny");
  for (std::size_t v = 0; v < size; ++v)
    builder.add(unit_op(v < 26 ? std::string(1, static_cast<char>('a' + v)) : "v" + std::to_string(v),
                        v < work.size() ? work[v] : 1e9));
  for (const auto& [from, to] : edges)
    builder.add_edge(core::OpId(static_cast<std::size_t>(from)), core::OpId(static_cast<std::size_t>(to)));
  return builder.build();
}

/// Devices on one switch: 1 GB/s cables without latency, devices of 1 TFLOP/s and `memory` bytes.
inline cluster::Cluster tiny_cluster(std::size_t devices, std::int64_t memory = std::int64_t{1} << 40,
                                     double bandwidth = 1e9, double latency = 0) {
  cluster::DeviceType type{"tiny", core::Bytes(memory), core::Bandwidth(1e15), {core::FlopRate(1e12)},
                           1,      core::Seconds(0)};
  std::vector<cluster::Link> links;
  for (std::size_t d = 0; d < devices; ++d) {
    links.push_back({d, devices, core::Bandwidth(bandwidth), core::Seconds(latency)});
    links.push_back({devices, d, core::Bandwidth(bandwidth), core::Seconds(latency)});
  }
  return cluster::Cluster("tiny", {type}, std::vector<cluster::Device>(devices), 1, links);
}

}  // namespace penstock::support
