#pragma once
// What happened when a plan was executed, simulated or for real: who did what when, and bytes live.

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
  recompute,  ///< the forward once more
  step,       ///< of the optimizer
  transfer,
  all_reduce,
  collective,  ///< a message of a tensor-parallel group, within a pass
};
inline constexpr std::size_t kTaskKinds = 9;
std::string_view name(TaskKind kind);
/// Occupies its device's compute stream.
constexpr bool computes(TaskKind kind) {
  return kind < TaskKind::transfer;
}

/// One execution of one task. Compute occupies `device`; a transfer leads from `device` to `peer`.
struct Span {
  TaskKind kind = TaskKind::forward;
  core::DeviceId device;
  core::DeviceId peer;            ///< receiver of a transfer; invalid otherwise
  core::StageId stage;            ///< the stage computing, sending or reducing
  std::int32_t micro_batch = -1;  ///< of that stage; of a step or all-reduce -1
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
  core::Bytes activations;  ///< kept for backward passes to come
  core::Bytes buffers;      ///< tensors received and not yet consumed
};

struct DeviceTrace {
  std::vector<core::StageId> stages;  ///< stages of the device
  core::Bytes capacity;               ///< device memory
  MemoryByKind fixed{};  ///< held throughout: weights, gradients, optimizer, workspace; others zero
  std::vector<MemoryPoint> memory;  ///< in time order; first point at time zero
};

struct Trace {
  std::int64_t mini_batch = 0;  ///< samples per iteration
  /// Time from the first task's start to the last task's end; of several mini-batches without a flush: what
  /// one adds once the pipeline runs steadily.
  core::Picoseconds iteration;
  std::int64_t mini_batches = 1;     ///< number in the spans
  std::vector<Span> spans;           ///< sorted by (start, device, kind, stage, micro_batch)
  std::vector<DeviceTrace> devices;  ///< indexed by DeviceId
};

/// End of the last span; of one mini-batch, the iteration.
core::Picoseconds length(const Trace& trace);

}  // namespace penstock::trace
