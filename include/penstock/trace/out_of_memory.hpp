#pragma once
// Devices that run out of memory, and the task that asked for more.

#include <optional>
#include <string>
#include <vector>

#include "penstock/trace/by_device.hpp"

namespace penstock::trace {

struct OutOfMemory {
  core::DeviceId device;
  core::Picoseconds time;  ///< first moment at which more is held than the device has
  core::Bytes needed;      ///< held then
  core::Bytes capacity;
  bool throughout = false;   ///< weights, gradients, optimizer and workspace alone are too much
  std::optional<Span> span;  ///< task that asked for memory then: a pass on the device, or a transfer to it
  friend bool operator==(const OutOfMemory&, const OutOfMemory&) = default;
};

/// One for every device that runs out, by (time, device). Memory that two points give at one moment is the
/// later one's.
std::vector<OutOfMemory> out_of_memory(const Trace& trace);
void sort_by_time(std::vector<OutOfMemory>& failures);
/// Whether one device of the run is out of memory.
std::optional<OutOfMemory> out_of_memory(const ByDevice& run, core::DeviceId id, const DeviceTrace& device);

/// "device 3 runs out of memory at 12.3 ms, in the forward of micro-batch 4 on stage 2: 18.2 GiB of 16.0
/// GiB".
std::string in_words(const OutOfMemory& failure);

}  // namespace penstock::trace
