#pragma once
// What whole devices do together by their vendor's library (Backend::collectives).

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Collectives of a fixed set of devices, its ranks. Each rank calls from a thread of its own, all the same
/// calls in the same order; `stream` is of the rank's backend, and the work is done when that has done it.
/// Floating elements; every rank ends with the same bits of a sum.
class Collectives {
 public:
  virtual ~Collectives() = default;
  /// values = sum over ranks, in place.
  virtual void all_reduce(std::size_t rank, Buffer& values, Stream& stream) = 0;
  /// part = the rank-th part of the sum of all ranks' values, which are ranks times as many.
  virtual void reduce_scatter(std::size_t rank, const Buffer& values, Buffer& part, Stream& stream) = 0;
  /// values = all ranks' parts, in the order of ranks.
  virtual void all_gather(std::size_t rank, const Buffer& part, Buffer& values, Stream& stream) = 0;

  /// Sends from one rank to another, which calls `receive` for buffers of the same sizes, in the same order.
  /// Behind the caller: before the rank's next call, or an event of the stream, it has settled.
  virtual void send(std::size_t rank, std::size_t to, const std::vector<const Buffer*>& values,
                    Stream& stream) = 0;
  virtual void receive(std::size_t rank, std::size_t from, const std::vector<Buffer*>& values,
                       Stream& stream) = 0;
  /// Whether all that a rank has called for is on its streams; throws what it failed with.
  virtual bool settled(std::size_t rank) = 0;
  /// Aborts what is under way, whose results are then undefined; later calls throw. From any thread.
  virtual void abort() = 0;
};

}  // namespace penstock::kernels
