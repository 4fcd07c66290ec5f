#pragma once
// Matrices in a row, and a stage of some of them.

#include "penstock/plan/plan.hpp"
#include "support/tiny.hpp"

namespace penstock::support {

/// Matrices a, b, c, ... of 1000 weights (4 kB) in a row, each making 1 kB per sample.
inline graph::OpGraph matrices(std::size_t count) {
  graph::GraphBuilder builder("matrices");
  for (std::size_t v = 0; v < count; ++v)
    builder.add(unit_op(std::string(1, static_cast<char>('a' + v)), 1e9, 1000));
  for (std::size_t v = 1; v < count; ++v) builder.add_edge(core::OpId(v - 1), core::OpId(v));
  return builder.build();
}

/// A stage of operators first to last, on devices 0 to devices - 1.
inline plan::Stage stage(std::size_t first, std::size_t last, std::size_t devices, int tensor_parallel) {
  plan::Stage out;
  for (std::size_t v = first; v <= last; ++v) out.operators.emplace_back(v);
  for (std::size_t d = 0; d < devices; ++d) out.devices.emplace_back(d);
  out.tensor_parallel = tensor_parallel;
  return out;
}

}  // namespace penstock::support
