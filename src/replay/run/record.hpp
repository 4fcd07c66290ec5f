#pragma once
// What one iteration leaves behind: who did what when.

#include <vector>

#include "penstock/replay/program.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

struct Interval {
  core::Seconds start{-1}, end{-1};  ///< of one clock
  bool happened() const { return end.value() >= 0; }
};

/// What a device holds after an instruction.
struct Held {
  core::Bytes activations, buffers;
};

struct Record {
  explicit Record(const DevicePrograms& program);

  std::vector<std::vector<Interval>> instructions;      ///< [device][position]
  std::vector<std::vector<Held>> held;                  ///< [device][position]
  std::vector<std::vector<core::Seconds>> collectives;  ///< [device][position] time in it that a group shares
  std::vector<Interval> messages;                       ///< [message] of those that travelled
  std::vector<std::vector<Interval>> reductions;        ///< [device][position] of a reduce_gradient
};

/// Over all iterations: the largest memory of each device, and the instruction during which it came to that.
struct Peak {
  plan::MemoryByKind memory{};
  std::size_t position = 0;
};

struct Records {
  std::vector<Record> iterations;           ///< without those to warm up
  std::vector<Peak> peaks;                  ///< [device]
  std::vector<std::vector<double>> losses;  ///< [device][mini-batch run] its part
};

/// Notes what `worker` holds after the instruction at `position`.
void note_memory(const Worker& worker, std::size_t position, Held& held, Peak& peak);
/// What all devices with a worker have lost.
void note_losses(const std::vector<Worker*>& workers, Records& records);

}  // namespace penstock::replay
