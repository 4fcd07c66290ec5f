#pragma once
// Record of an executed or simulated plan: device and time of every task, and memory in use.

#include <cstdint>
#include <string_view>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"
#include "penstock/plan/memory_kind.hpp"

namespace penstock::trace {

enum class TaskKind : std::uint8_t {
  forward,
  backward,  ///< both gradients
  input_gradient,
  weight_gradient,
  recompute,  ///< the forward pass again
  step,       ///< of the optimizer
  transfer,
  all_reduce,
  collective,  ///< a message of a tensor-parallel group, within a pass
};
inline constexpr std::size_t kTaskKinds = 9;
std::string_view name(TaskKind kind);
/// True for tasks that occupy their device's compute stream.
constexpr bool computes(TaskKind kind) {
  return kind < TaskKind::transfer;
}

/// One execution of one task. Compute occupies `device`; a transfer leads from `device` to `peer`.
struct Span {
  TaskKind kind = TaskKind::forward;
  core::DeviceId device;
  core::DeviceId peer;            ///< receiver of a transfer; invalid otherwise
  core::StageId stage;            ///< stage that computes, sends or reduces
  std::int32_t micro_batch = -1;  ///< index in that stage; -1 for a step or all-reduce
  core::Picoseconds start;
  core::Picoseconds end;
  core::Bytes bytes;  ///< moved; zero for compute
  core::Picoseconds
      collective{};     ///< of a pass: time in it that a tensor-parallel group or ZeRO's replicas communicate
  bool shared = false;  ///< an all-reduce of parameters that several stages use (plan::SharedParameters);
                        ///< `stage` is then their owner's
  friend bool operator==(const Span&, const Span&) = default;
};

using plan::kMemoryKinds;
using plan::MemoryByKind;
using plan::MemoryKind;

/// Memory that changes during the iteration, valid from `time` on.
struct MemoryPoint {
  core::Picoseconds time;
  core::Bytes activations;  ///< kept for later backward passes
  core::Bytes buffers;      ///< tensors received and not yet consumed
};

struct DeviceTrace {
  std::vector<core::StageId> stages;  ///< stages of the device
  core::Bytes capacity;               ///< device memory
  MemoryByKind fixed{};  ///< held throughout: weights, gradients, optimizer, workspace, buckets; others zero
  std::vector<MemoryPoint> memory;  ///< in time order; first point at time zero
  core::Bytes step{};               ///< copies and temporaries of the optimizer's step, when no pass runs
};

struct Trace {
  std::int64_t mini_batch = 0;  ///< samples per iteration
  /// Time from the first task's start to the last task's end. For several mini-batches without a flush, the
  /// time that one more adds once the pipeline runs steadily.
  core::Picoseconds iteration;
  std::int64_t mini_batches = 1;     ///< number in the spans
  std::vector<Span> spans;           ///< sorted by (start, device, kind, stage, micro_batch)
  std::vector<DeviceTrace> devices;  ///< indexed by DeviceId
};

/// End of the last span; for one mini-batch this is the iteration.
core::Picoseconds length(const Trace& trace);

}  // namespace penstock::trace
