#pragma once
// Record of one iteration: times of all instructions.

#include <vector>

#include "penstock/replay/program.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

struct Interval {
  core::Seconds start{-1}, end{-1};  ///< on one clock
  bool happened() const { return end.value() >= 0; }
};

/// Memory of a device after an instruction.
struct Held {
  core::Bytes activations, buffers;
};

struct Record {
  explicit Record(const DevicePrograms& program);

  std::vector<std::vector<Interval>> instructions;  ///< [device][position]
  std::vector<std::vector<Held>> held;              ///< [device][position]
  /// [device][position] time shared with a group during it.
  std::vector<std::vector<core::Seconds>> collectives;
  std::vector<Interval> messages;                 ///< [message] for those that travelled
  std::vector<std::vector<Interval>> reductions;  ///< [device][position] for reduce_gradient
};

/// Over all iterations: the maximum memory of a device, and the instruction during which it occurred.
struct Peak {
  plan::MemoryByKind memory{};
  std::size_t position = 0;
};

struct Records {
  std::vector<Record> iterations;           ///< without warm-up
  std::vector<Peak> peaks;                  ///< [device]
  std::vector<std::vector<double>> losses;  ///< [device][mini-batch run] its part of the loss
};

/// Records the memory of `worker` after the instruction at `position`.
void note_memory(const Worker& worker, std::size_t position, Held& held, Peak& peak);
/// Collects the losses of all devices with a worker.
void note_losses(const std::vector<Worker*>& workers, Records& records);

}  // namespace penstock::replay
