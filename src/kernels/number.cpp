#include "penstock/kernels/number.hpp"

#include <array>

#include "penstock/core/spelling.hpp"

namespace penstock::kernels {
namespace {

constexpr std::array<std::string_view, 4> kNumbers = {"fp32", "tf32", "bf16", "fp16"};
constexpr std::array<std::string_view, 4> kElements = {"fp32", "bf16", "fp16", "int64"};
constexpr std::array<std::int64_t, 4> kSizes = {4, 2, 2, 8};

}  // namespace

std::string_view name(Number number) {
  return kNumbers[static_cast<std::size_t>(number)];
}

Number number(std::string_view text) {
  return static_cast<Number>(core::index_of(text, kNumbers, "number format"));
}

std::string_view name(Element element) {
  return kElements[static_cast<std::size_t>(element)];
}

std::int64_t size(Element element) {
  return kSizes[static_cast<std::size_t>(element)];
}

Element storage(Number number) {
  switch (number) {
    case Number::bf16:
      return Element::bf16;
    case Number::fp16:
      return Element::fp16;
    default:
      return Element::fp32;
  }
}

}  // namespace penstock::kernels
