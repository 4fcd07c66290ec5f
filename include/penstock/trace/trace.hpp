#pragma once
// What happened when a plan was executed, simulated or for real: who did what when, and bytes live.

#include <cstdint>
#include <string_view>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"
#include "penstock/plan/memory_kind.hpp"

namespace penstock::trace {

/// A full backward, or its halves: the input gradient, which the stage before waits for, and the weight gradient.
enum class TaskKind : std::uint8_t { forward, backward, input_gradient, weight_gradient, transfer, all_reduce };
std::string_view name(TaskKind kind);
constexpr bool computes(TaskKind kind) {
  return kind < TaskKind::transfer;
}

/// One execution of one task. Compute occupies `device`; a transfer leads from `device` to `peer`.
struct Span {
  TaskKind kind = TaskKind::forward;
  core::DeviceId device;
  core::DeviceId peer;            ///< receiver of a transfer; invalid otherwise
  core::StageId stage;            ///< the stage computing, sending or reducing
  std::int32_t micro_batch = -1;  ///< of that stage; -1 for an all-reduce
  core::Picoseconds start;
  core::Picoseconds end;
  core::Bytes bytes;  ///< moved; zero for compute
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
  core::StageId stage;     ///< the stage it serves
  core::Bytes capacity;    ///< device memory
  MemoryByKind fixed{};    ///< held throughout: weights, gradients, optimizer, workspace; others zero
  std::vector<MemoryPoint> memory;  ///< in time order; first point at time zero
};

struct Trace {
  std::int64_t mini_batch = 0;      ///< samples per iteration
  core::Picoseconds iteration;      ///< from the first task's start to the last task's end
  std::vector<Span> spans;          ///< sorted by (start, device, kind, stage, micro_batch)
  std::vector<DeviceTrace> devices;  ///< indexed by DeviceId
};

}  // namespace penstock::trace
