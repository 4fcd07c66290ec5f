#pragma once
// Collectives among whole devices by their vendor's library (Backend::collectives).

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Collectives of a fixed set of devices, its ranks. Each rank calls from its own thread; all make the same
/// calls in the same order. `stream` belongs to the rank's backend, and the work is done when the stream has
/// done it. For floating elements; every rank ends with identical bits of a sum.
class Collectives {
 public:
  virtual ~Collectives() = default;
  /// values = sum over ranks, in place.
  virtual void all_reduce(std::size_t rank, Buffer& values, Stream& stream) = 0;
  /// part = part number `rank` of the sum of all ranks' values, whose count is `ranks` times as large.
  virtual void reduce_scatter(std::size_t rank, const Buffer& values, Buffer& part, Stream& stream) = 0;
  /// values = all ranks' parts, in the order of ranks.
  virtual void all_gather(std::size_t rank, const Buffer& part, Buffer& values, Stream& stream) = 0;

  /// Sends from one rank to another, which calls `receive` for buffers of equal sizes, in the same order.
  /// Asynchronous: it has settled before the rank's next call, or at an event of the stream.
  virtual void send(std::size_t rank, std::size_t to, const std::vector<const Buffer*>& values,
                    Stream& stream) = 0;
  virtual void receive(std::size_t rank, std::size_t from, const std::vector<Buffer*>& values,
                       Stream& stream) = 0;
  /// True if all calls of a rank are on its streams; throws their failure.
  virtual bool settled(std::size_t rank) = 0;
  /// Aborts running work, whose results are then undefined; later calls throw. Thread-safe.
  virtual void abort() = 0;
};

}  // namespace penstock::kernels
