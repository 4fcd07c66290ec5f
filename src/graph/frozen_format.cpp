#include "penstock/graph/frozen_format.hpp"

#include <array>

#include "penstock/core/spelling.hpp"

namespace penstock::graph {
namespace {

constexpr std::array<std::string_view, 3> kFrozenNames = {"stored", "fp8", "nf4"};

std::int64_t groups(std::int64_t numbers, std::int64_t each) {
  return (numbers + each - 1) / each;
}

}  // namespace

std::string_view name(FrozenFormat format) {
  return kFrozenNames[static_cast<std::size_t>(format)];
}

FrozenFormat frozen_format(std::string_view given) {
  return static_cast<FrozenFormat>(core::index_of(given, kFrozenNames, "format of frozen weights"));
}

core::Bytes frozen_bytes(FrozenFormat format, std::int64_t numbers, std::int64_t element_bytes) {
  constexpr std::int64_t kBlock = 64, kBlocks = 256, kScale = 4;
  switch (format) {
    case FrozenFormat::stored:
      return core::Bytes(numbers * element_bytes);
    case FrozenFormat::fp8:
      return core::Bytes(numbers);
    case FrozenFormat::nf4:
      break;
  }
  const std::int64_t scales = groups(numbers, kBlock);
  return core::Bytes(groups(numbers, 2) + scales + groups(scales, kBlocks) * kScale);
}

}  // namespace penstock::graph
