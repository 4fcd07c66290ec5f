// A model file of any bytes is read or refused. An accepted one can be written and read again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/graph_file.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string written;
  try {
    written = graph::to_json(graph::parse_graph(text, "fuzz"));
  } catch (const core::Error&) {
    return 0;
  }
  graph::parse_graph(written, "fuzz");  // a refusal here is a fault, so it is not caught
  return 0;
}
