#pragma once
// Inputs and targets on the device, made once: what a loader would have brought there before it is needed.

#include "penstock/replay/program.hpp"
#include "worker/device.hpp"

namespace penstock::replay {

/// As much of them as the device has. Its buffers are not counted: an input is while a micro-batch has it.
class DataSet {
 public:
  explicit DataSet(Device& device) : device_(device) {}
  const Lease& input(core::OpId op, Samples samples);
  /// With the sign changed: added to what `op` makes, it leaves the gradient of half the squared distance.
  const Lease& negative_target(core::OpId op, Samples samples);

 private:
  using Key = std::tuple<core::OpId, std::int64_t, std::int64_t>;
  template <class Values>
  const Lease& find(std::map<Key, Lease>& among, core::OpId op, Samples samples, const Values& values);

  Device& device_;
  std::map<Key, Lease> inputs_, targets_;
};

}  // namespace penstock::replay
