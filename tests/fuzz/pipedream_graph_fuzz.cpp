// A graph.txt of any bytes is read or refused. An accepted one becomes a model, or the error names a line.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/pipedream_graph.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto read =
        graph::parse_pipedream_graph(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    const auto model = graph::to_op_graph(read, "fuzz", 3);
    core::require(model.size() == read.nodes.size(), "every node is an operator");
  } catch (const core::BadInput&) {
  }
  return 0;
}
