#pragma once
// Record of one iteration: times of all instructions.

#include <vector>

#include "penstock/replay/program.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

struct TimeInterval {
  core::Seconds start{-1}, end{-1};  ///< on one clock
  bool happened() const { return end.value() >= 0; }
};

/// Memory of a device after an instruction.
struct HeldMemory {
  core::Bytes activations, buffers;
};

struct IterationRecord {
  explicit IterationRecord(const DevicePrograms& program);

  std::vector<std::vector<TimeInterval>> instructions;  ///< [device][position]
  std::vector<std::vector<HeldMemory>> held;            ///< [device][position]
  /// [device][position] time shared with a group during it.
  std::vector<std::vector<core::Seconds>> collectives;
  std::vector<TimeInterval> messages;                 ///< [message] for those that travelled
  std::vector<std::vector<TimeInterval>> reductions;  ///< [device][position] for reduce_gradient
};

/// Over all iterations: the maximum memory of a device, and the instruction during which it occurred.
struct DevicePeak {
  plan::MemoryByKind memory{};
  std::size_t position = 0;
};

struct ReplayRecords {
  std::vector<IterationRecord> iterations;  ///< without warm-up
  std::vector<DevicePeak> peaks;            ///< [device]
  std::vector<std::vector<double>> losses;  ///< [device][mini-batch run] its part of the loss
};

/// Records the memory of `worker` after the instruction at `position`.
void note_memory(const Worker& worker, std::size_t position, HeldMemory& held, DevicePeak& peak);
/// Collects the losses of all devices with a worker.
void note_losses(const std::vector<Worker*>& workers, ReplayRecords& records);

}  // namespace penstock::replay
