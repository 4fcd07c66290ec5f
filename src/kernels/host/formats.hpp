#pragma once
// Plain loops over fp32 or bf16: computed in float, rounded when stored.

#include "half.hpp"
#include "penstock/kernels/precision.hpp"

namespace penstock::kernels::host {

struct Fp32Format {
  using Stored = float;
  static float load(float stored) { return stored; }
  static float store(float value) { return value; }
};

struct Bf16Format {
  using Stored = std::uint16_t;
  static float load(std::uint16_t stored) { return from_bf16(stored); }
  static std::uint16_t store(float value) { return to_bf16(value); }
};

/// Calls body(Fp32Format{}) or body(Bf16Format{}).
template <class Body>
void with_format(Element element, const Body& body) {
  if (element == Element::bf16)
    body(Bf16Format{});
  else
    body(Fp32Format{});
}

template <class Format>
const typename Format::Stored* read(const void* data) {
  return static_cast<const typename Format::Stored*>(data);
}

template <class Format>
typename Format::Stored* write(void* data) {
  return static_cast<typename Format::Stored*>(data);
}

}  // namespace penstock::kernels::host
