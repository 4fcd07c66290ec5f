#include "penstock/plan/mixed_precision.hpp"

#include <array>

#include "penstock/core/spelling.hpp"

namespace penstock::plan {
namespace {

using cluster::Precision;

constexpr std::array<std::string_view, 5> kNames = {"fp32", "bf16", "mixed_bf16", "mixed_fp16",
                                                    "deepspeed_bf16"};
constexpr Precision kFp32 = Precision::fp32, kBf16 = Precision::bf16, kFp16 = Precision::fp16;
constexpr std::array<MixedPrecision, kNames.size()> kNamed = {{{kFp32, kFp32, kFp32, {}, {}},
                                                               {kBf16, kBf16, kBf16, {}, {}},
                                                               {kBf16, kFp32, kFp32, kFp32, {}},
                                                               {kFp16, kFp16, kFp32, kFp32, {}},
                                                               {kBf16, kFp32, kFp32, kFp32, kBf16}}};

}  // namespace

MixedPrecision mixed_precision(std::string_view given) {
  return kNamed[core::index_of(given, kNames, "precision")];
}

std::string_view name(const MixedPrecision& precision) {
  for (std::size_t i = 0; i < kNamed.size(); ++i)
    if (kNamed[i] == precision) return kNames[i];
  return "";
}

int bytes(Precision number) {
  return number == Precision::fp32 || number == Precision::tf32 ? 4 : 2;
}

}  // namespace penstock::plan
