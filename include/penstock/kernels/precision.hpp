#pragma once
// The precision in which an operator computes, and the type of the elements of its buffers in memory.

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::kernels {

/// Precision of an operator: its operands are rounded to it, sums are in fp32.
enum class Precision : std::uint8_t {
  fp32,
  tf32,  ///< stored as fp32; factors of a product are rounded to 10 bits of mantissa
  bf16,
  fp16,
};

/// Type of a buffer's elements.
enum class Element : std::uint8_t { fp32, bf16, fp16, int64 };

std::string_view name(Precision precision);
/// Parses a name. Throws BadInput for an unknown one.
Precision precision(std::string_view name);

std::string_view name(Element element);
std::int64_t size(Element element);    ///< bytes
Element storage(Precision precision);  ///< fp32 for tf32, otherwise the element of that name

}  // namespace penstock::kernels
