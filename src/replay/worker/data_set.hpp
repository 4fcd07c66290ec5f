#pragma once
// Inputs and targets on the device, made once, in place of a data loader.

#include "penstock/replay/program.hpp"
#include "worker/device.hpp"

namespace penstock::replay {

/// The device's shard of the data. Its buffers are not counted: an input counts while a micro-batch has it.
class DataSet {
 public:
  explicit DataSet(DeviceContext& device) : device_(device) {}
  const Lease& input(core::OpId op, SampleRange samples);
  /// Target with the sign changed: added to the output of `op`, it gives the gradient of half the squared
  /// distance.
  const Lease& negative_target(core::OpId op, SampleRange samples);

 private:
  using Key = std::tuple<core::OpId, std::int64_t, std::int64_t>;
  template <class Values>
  const Lease& find(std::map<Key, Lease>& among, core::OpId op, SampleRange samples, const Values& values);

  DeviceContext& device_;
  std::map<Key, Lease> inputs_, targets_;
};

}  // namespace penstock::replay
