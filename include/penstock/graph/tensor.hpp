#pragma once
// Tensors that operators hand on: named axes, per sample.

#include <cstdint>
#include <string_view>
#include <vector>

#include "penstock/core/units.hpp"

namespace penstock::graph {

enum class AxisRole : std::uint8_t {
  rows,      ///< tokens of a sequence, pixels of an image in one line
  features,  ///< what a row consists of: hidden width, channels
  height,
  width,
  matrices,  ///< of a batched product
  elements,  ///< in one line, whatever they mean
};
std::string_view name(AxisRole role);

struct TensorAxis {
  AxisRole role = AxisRole::elements;
  std::int64_t extent = 0;
  friend bool operator==(const TensorAxis&, const TensorAxis&) = default;
};

/// `number` is what the model computes in, OpGraph::element_bytes() each. `index` points at a row of a table,
/// in 64 bits. `byte` is used for operators without attributes.
enum class DType : std::uint8_t { number, index, byte };

/// A tensor's axes from the slowest to the fastest in memory; channels of images are last.
struct Tensor {
  std::vector<TensorAxis> axes;
  DType dtype = DType::number;

  std::int64_t count() const;  ///< of its elements, per sample
  core::Bytes bytes(int element_bytes) const;
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

}  // namespace penstock::graph
