#pragma once
// Collectives between whole devices by their vendor's library (Backend::collectives).

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Of a fixed set of devices, its ranks. Each rank calls from a thread of its own, all the same calls in the
/// same order; `stream` is of the rank's backend, and the work is done when that has done it. Floating
/// elements; every rank ends with the same bits of a sum.
class Collectives {
 public:
  virtual ~Collectives() = default;
  /// values = sum over ranks, in place.
  virtual void all_reduce(std::size_t rank, Buffer& values, Stream& stream) = 0;
  /// part = the rank-th part of the sum of all ranks' values, which are ranks times as many.
  virtual void reduce_scatter(std::size_t rank, const Buffer& values, Buffer& part, Stream& stream) = 0;
  /// values = all ranks' parts, in the order of ranks.
  virtual void all_gather(std::size_t rank, const Buffer& part, Buffer& values, Stream& stream) = 0;
};

}  // namespace penstock::kernels
