#pragma once
// Summary of a trace in a few numbers.

#include <vector>

#include "penstock/trace/by_device.hpp"
#include "penstock/trace/out_of_memory.hpp"

namespace penstock::trace {

struct DeviceSummary {
  core::Seconds busy;                   ///< computing, per mini-batch
  core::Seconds exposed_communication;  ///< per mini-batch: collectives within passes, and idle while a
                                        ///< transfer to or from it, or its all-reduce, runs
  MemoryByKind at_peak{};               ///< memory by kind at the moment of the peak
  core::Bytes peak;                     ///< sum of at_peak
  core::Picoseconds peak_time;          ///< first moment of the peak
  TaskKind moment =
      TaskKind::forward;  ///< task that runs while memory is at its peak ; a backward pass before others
  friend bool operator==(const DeviceSummary&, const DeviceSummary&) = default;
};

struct Summary {
  core::Seconds iteration;
  std::int64_t mini_batches = 1;  ///< number in the run
  double samples_per_second = 0;
  double bubble = 0;                 ///< idle share of compute, mean over devices
  double exposed_communication = 0;  ///< share of the iteration, mean over devices
  core::Bytes peak_memory;           ///< of the fullest device
  std::vector<DeviceSummary> devices;
  std::vector<OutOfMemory> out_of_memory;  ///< by (time, device)
  friend bool operator==(const Summary&, const Summary&) = default;
};

Summary summarise(const ByDevice& run);
Summary summarise(const Trace& trace);

}  // namespace penstock::trace
