#include "penstock/plan/mixed_precision.hpp"

#include <array>

#include "penstock/core/spelling.hpp"

namespace penstock::plan {
namespace {

using cluster::Precision;
using graph::ProductFormat;

constexpr std::array<std::string_view, 10> kNames = {
    "fp32",        "bf16",        "mixed_bf16", "mixed_fp16", "deepspeed_bf16",
    "fp8_delayed", "fp8_current", "fp8_block",  "mxfp8",      "nvfp4"};
constexpr Precision kFp32 = Precision::fp32, kBf16 = Precision::bf16, kFp16 = Precision::fp16;

/// mixed_bf16 whose layers multiply in this format.
constexpr MixedPrecision mixed_bf16(ProductFormat products) {
  return {kBf16, kFp32, kFp32, kFp32, {}, products};
}

constexpr std::array<MixedPrecision, kNames.size()> kNamed = {{{kFp32, kFp32, kFp32, {}, {}},
                                                               {kBf16, kBf16, kBf16, {}, {}},
                                                               mixed_bf16(ProductFormat::stored),
                                                               {kFp16, kFp16, kFp32, kFp32, {}},
                                                               {kBf16, kFp32, kFp32, kFp32, kBf16},
                                                               mixed_bf16(ProductFormat::fp8_delayed),
                                                               mixed_bf16(ProductFormat::fp8_current),
                                                               mixed_bf16(ProductFormat::fp8_block),
                                                               mixed_bf16(ProductFormat::mxfp8),
                                                               mixed_bf16(ProductFormat::nvfp4)}};

}  // namespace

MixedPrecision mixed_precision(std::string_view given) {
  return kNamed[core::index_of(given, kNames, "precision")];
}

std::span<const std::string_view> precision_names() {
  return kNames;
}

std::string_view name(const MixedPrecision& precision) {
  for (std::size_t i = 0; i < kNamed.size(); ++i)
    if (kNamed[i] == precision) return kNames[i];
  return "";
}

Precision rate_of(ProductFormat products) {
  constexpr int kByte = 8;
  return graph::facts(products).bits == kByte ? Precision::fp8 : Precision::fp4;
}

int bytes(Precision number) {
  return number == Precision::fp32 || number == Precision::tf32 ? 4 : 2;
}

}  // namespace penstock::plan
