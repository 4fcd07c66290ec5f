#pragma once
// Accumulator: fp32 values on a device, in which gradients are summed.

#include "links/copier.hpp"
#include "penstock/kernels/collectives.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// Values of one length in fp32, in which gradients are summed. One thread at a time, except that pieces may
/// be read at the same time.
class GradientAccumulator {
 public:
  virtual ~GradientAccumulator() = default;
  virtual std::size_t size() const = 0;
  /// Copies all numbers of the regions here, one after the other; and back, rounded to the buffers' elements.
  /// The counts must be equal.
  virtual void take(const std::vector<BufferRegion>& regions) = 0;
  virtual void give(const std::vector<BufferRegion>& regions) = 0;
  virtual Pieces piece(std::size_t first, std::size_t count) = 0;
  /// Adds the first `count` of `terms`, made by room(), to the values from `first` on.
  virtual void add(std::size_t first, const GradientAccumulator& terms, std::size_t count) = 0;
  /// Becomes the sum over all ranks' values by the devices' library; returns false if it is not on a device.
  virtual bool sum(kernels::Collectives& library, std::size_t rank) = 0;
  /// Returns an accumulator for `size` numbers (at least 1) on the same device.
  virtual std::unique_ptr<GradientAccumulator> room(std::size_t size) const = 0;
};

/// Creates an accumulator for such regions. It is on the device if there is a copier, which its pieces carry,
/// and the regions are fp32; otherwise on the host.
std::unique_ptr<GradientAccumulator> make_accumulator(kernels::Backend& backend, PieceCopier* copier,
                                                      const std::vector<BufferRegion>& regions);

}  // namespace penstock::replay
