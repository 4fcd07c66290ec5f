#pragma once
// Accumulator: fp32 values on a device, in which gradients are summed.

#include "links/copier.hpp"
#include "penstock/kernels/collectives.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// Where gradients are summed, in fp32; of one length. One thread at a time, but pieces may be read beside.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  virtual std::size_t size() const = 0;
  /// All numbers of the regions, one after the other; and back, rounded to the buffers' elements. As many
  /// numbers as there are here.
  virtual void take(const std::vector<Region>& regions) = 0;
  virtual void give(const std::vector<Region>& regions) = 0;
  virtual Pieces piece(std::size_t first, std::size_t count) = 0;
  /// The first `count` of `terms`, a room of these, are added from `first` on.
  virtual void add(std::size_t first, const Accumulator& terms, std::size_t count) = 0;
  /// Becomes the sum over all ranks' rows by the devices' library; false where it is not on a device.
  virtual bool sum(kernels::Collectives& library, std::size_t rank) = 0;
  /// A place for `size` numbers, 1 or more, on the same device.
  virtual std::unique_ptr<Accumulator> room(std::size_t size) const = 0;
};

/// What such regions fit in. On the device if it has a copier, which its pieces carry, and they are fp32;
/// else on the host.
std::unique_ptr<Accumulator> make_accumulator(kernels::Backend& backend, Copier* copier,
                                              const std::vector<Region>& regions);

}  // namespace penstock::replay
