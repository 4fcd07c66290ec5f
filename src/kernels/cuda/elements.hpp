#pragma once
// Elements of buffers as used by kernels: computed in float, rounded to nearest even when stored.

#include <cstdint>
#include <cstring>

#include "cuda/launch.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/precision.hpp"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include "half.hpp"
#endif

namespace penstock::kernels::cuda {

#ifdef __CUDACC__
using Bf16Number = __nv_bfloat16;
using Fp16Number = __half;
PENSTOCK_DEVICE inline float load(Bf16Number x) {
  return __bfloat162float(x);
}
PENSTOCK_DEVICE inline float load(Fp16Number x) {
  return __half2float(x);
}
PENSTOCK_DEVICE inline void store(Bf16Number& x, float value) {
  x = __float2bfloat16_rn(value);
}
PENSTOCK_DEVICE inline void store(Fp16Number& x, float value) {
  x = __float2half_rn(value);
}
#else
struct Bf16Number {
  std::uint16_t bits;
};
struct Fp16Number {
  std::uint16_t bits;
};
inline float load(Bf16Number x) {
  return from_bf16(x.bits);
}
inline float load(Fp16Number x) {
  return from_fp16(x.bits);
}
inline void store(Bf16Number& x, float value) {
  x.bits = to_bf16(value);
}
inline void store(Fp16Number& x, float value) {
  x.bits = to_fp16(value);
}
#endif
PENSTOCK_DEVICE inline float load(float x) {
  return x;
}
PENSTOCK_DEVICE inline void store(float& x, float value) {
  x = value;
}

/// Calls body(zero) with a zero of the C++ type of `element`, a floating one.
template <class Body>
void with_element(Element element, const Body& body) {
  switch (element) {
    case Element::fp32:
      return body(float{});
    case Element::bf16:
      return body(Bf16Number{});
    case Element::fp16:
      return body(Fp16Number{});
    case Element::int64:
      break;
  }
  core::require(false, "kernels compute on floating elements");
}

}  // namespace penstock::kernels::cuda
