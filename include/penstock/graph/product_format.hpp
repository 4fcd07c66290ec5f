#pragma once
// Formats narrower than 16 bits in which layers multiply.

#include <cstdint>
#include <string_view>

#include "penstock/core/units.hpp"

namespace penstock::graph {

/// Format of the operands of a layer's products, forward and backward. `stored`: the numbers that the model
/// stores. The others are recipes of Transformer Engine 2.20 (transformer_engine/common/recipe): a layer casts
/// its 16-bit input, weight and output gradient, multiplies them, and writes 16 bits again.
/// - fp8_delayed: a scale per tensor, from the largest magnitudes of earlier steps (Micikevicius et al., FP8
///   Formats for Deep Learning, 2022).
/// - fp8_current: a scale per tensor, from its own largest magnitude, which takes one more pass over it.
/// - fp8_block: an fp32 scale per 128 numbers, of weights per 128 x 128 (DeepSeek-V3, 2024, section 3.3).
/// - mxfp8: an 8-bit scale per 32 numbers (OCP Microscaling Formats, 2023).
/// - nvfp4: 4 bits, an 8-bit scale per 16 numbers under a scale per tensor (NVIDIA, Pretraining Large Language
///   Models with NVFP4, 2025).
enum class ProductFormat : std::uint8_t { stored, fp8_delayed, fp8_current, fp8_block, mxfp8, nvfp4 };

/// Costs of a format; those of `stored` do not count.
struct FormatFacts {
  std::string_view name;
  int bits;      ///< of a number
  double scale;  ///< bytes of scales per number
  int reads;     ///< times that a cast reads its tensor: once more where its largest magnitude comes first
  int multiple;  ///< of which the extents of a product must be multiples
  bool block_units;  ///< needs a device whose products take a scale per block of 32 or 16 numbers
};
const FormatFacts& facts(ProductFormat format);

std::string_view name(ProductFormat format);
/// Throws BadInput for an unknown name.
ProductFormat product_format(std::string_view name);

/// Bytes of one copy of so many numbers, rounded up.
core::Bytes quantized_bytes(ProductFormat format, std::int64_t numbers);

/// Copies of a layer's weights beside the 16-bit ones: one by rows for the forward pass, one by columns for the
/// input gradient. Both stay until the optimizer's step. Differs: Blackwell keeps one with a scale per tensor.
inline constexpr int kWeightCopies = 2;

}  // namespace penstock::graph
