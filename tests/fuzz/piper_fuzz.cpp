// A workload of any bytes is read or refused. An accepted one is a graph in order, and its model can be
// written.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/graph/piper_graph.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  graph::PiperWorkload workload;
  try {
    workload = graph::parse_piper(std::string(reinterpret_cast<const char*>(data), size), "fuzz",
                                  graph::PiperTime::milliseconds);
  } catch (const core::BadInput&) {
    return 0;
  }
  core::require(graph::dag_of(workload).edge_count() == workload.edges.size(),
                "edges lead upwards, each once");
  for (const auto& layer : workload.layers)
    for (const auto& degree : layer.degrees)
      for (const auto& way : degree.configurations)
        core::require(std::isfinite(way.time) && way.time >= 0, "times are finite");
  const auto model = graph::op_graph_of(workload, "fuzz");
  core::require(graph::parse_graph(graph::to_json(model), "again").size() == workload.layers.size(),
                "the model reads back");
  return 0;
}
