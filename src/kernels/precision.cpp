#include "penstock/kernels/precision.hpp"

#include <array>

#include "penstock/core/spelling.hpp"

namespace penstock::kernels {
namespace {

constexpr std::array<std::string_view, 4> kPrecisions = {"fp32", "tf32", "bf16", "fp16"};
constexpr std::array<std::string_view, 4> kElements = {"fp32", "bf16", "fp16", "int64"};
constexpr std::array<std::int64_t, 4> kSizes = {4, 2, 2, 8};

}  // namespace

std::string_view name(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

Precision precision(std::string_view text) {
  return static_cast<Precision>(core::index_of(text, kPrecisions, "number format"));
}

std::string_view name(Element element) {
  return kElements[static_cast<std::size_t>(element)];
}

std::int64_t size(Element element) {
  return kSizes[static_cast<std::size_t>(element)];
}

Element storage(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return Element::bf16;
    case Precision::fp16:
      return Element::fp16;
    default:
      return Element::fp32;
  }
}

}  // namespace penstock::kernels
