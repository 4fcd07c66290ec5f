#pragma once
// Formats in which weights that do not train are stored.

#include <cstdint>
#include <string_view>

#include "penstock/core/units.hpp"

namespace penstock::graph {

/// Format of stored weights that do not train.
/// - stored: the model's numbers.
/// - fp8: 8 bits with one scale per tensor, which is not counted (Transformer Engine's FP8 parameters).
/// - nf4: 4 bits, an 8-bit scale per 64 numbers, and an fp32 scale per 256 of these scales: NF4 with double
///   quantisation (Dettmers et al., QLoRA, NeurIPS 2023, section 3).
enum class FrozenFormat : std::uint8_t { stored, fp8, nf4 };

std::string_view name(FrozenFormat format);
/// Throws BadInput for an unknown name.
FrozenFormat frozen_format(std::string_view name);

/// Bytes of so many weights; `element_bytes` of each in the stored format. Every group of scales is rounded up.
core::Bytes frozen_bytes(FrozenFormat format, std::int64_t numbers, std::int64_t element_bytes);

}  // namespace penstock::graph
