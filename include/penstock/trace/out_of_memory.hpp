#pragma once
// Devices that run out of memory, and the task that needed more.

#include <optional>
#include <string>
#include <vector>

#include "penstock/trace/by_device.hpp"

namespace penstock::trace {

struct OutOfMemory {
  core::DeviceId device;
  core::Picoseconds time;  ///< first moment at which held bytes exceed the capacity
  core::Bytes needed;      ///< held then
  core::Bytes capacity;
  /// Weights, gradients, optimizer and workspace are too much without activations and buffers.
  bool throughout = false;
  std::optional<Span> span;  ///< task that needed memory then: a pass on the device, or a transfer to it
  friend bool operator==(const OutOfMemory&, const OutOfMemory&) = default;
};

/// Returns one entry for every device that runs out, by (time, device). If two points have the same time, the
/// later one counts.
std::vector<OutOfMemory> out_of_memory(const Trace& trace);
void sort_by_time(std::vector<OutOfMemory>& failures);
/// The entry of one device of the run; empty if it does not run out of memory.
std::optional<OutOfMemory> out_of_memory(const ByDevice& run, core::DeviceId id, const DeviceTrace& device);

/// For example "device 3 runs out of memory at 12.3 ms, in the forward of micro-batch 4 on stage 2: 18.2 GiB
/// of 16.0 GiB".
std::string in_words(const OutOfMemory& failure);

}  // namespace penstock::trace
