#pragma once
// Instruction: one step that all devices of a rank execute.

#include <cstdint>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/ids.hpp"
#include "penstock/schedule/schedule.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::program {

/// A pass, a gradient reduction, an update or a barrier.
struct Instruction {
  schedule::ActionKind kind =
      schedule::ActionKind::forward;  ///< forward, backward, input_gradient, weight_gradient,
                                      ///< recompute, reduce_gradient, step or barrier
  bool joined = false;                ///< true: runs as one with the instruction before it
  /// Piece of a pass that collectives cut; after each piece except the last, the group runs one of them
  /// (LoweringOptions::pieces).
  std::int16_t piece = -1;
  core::StageId stage{};          ///< invalid for a barrier
  std::int32_t micro_batch = -1;  ///< micro-batch of a pass, as counted by the row (ReplicaShare::in_row)
  /// Bucket of a reduction; of a pass that makes only this bucket, the last of a mini-batch.
  std::int32_t bucket = -1;
  std::int32_t shared = -1;  ///< for a reduction among stages: index into Program::shared
};
static_assert(sizeof(Instruction) == 20, "ten million passes should stay small");

using Row = std::vector<Instruction>;

/// True if the instruction occupies its device: a pass or an update.
constexpr bool computes(schedule::ActionKind kind) {
  using enum schedule::ActionKind;
  return kind == forward || kind == backward || kind == input_gradient || kind == weight_gradient ||
         kind == recompute || kind == step;
}
/// True if the instruction ends what is held for its micro-batch.
constexpr bool releases(schedule::ActionKind kind) {
  return kind == schedule::ActionKind::backward || kind == schedule::ActionKind::weight_gradient;
}
/// Kind of a computing instruction in a trace.
constexpr trace::TaskKind traced(schedule::ActionKind kind) {
  using enum schedule::ActionKind;
  switch (kind) {
    case forward:
      return trace::TaskKind::forward;
    case backward:
      return trace::TaskKind::backward;
    case input_gradient:
      return trace::TaskKind::input_gradient;
    case weight_gradient:
      return trace::TaskKind::weight_gradient;
    case recompute:
      return trace::TaskKind::recompute;
    case step:
      return trace::TaskKind::step;
    default:
      throw core::Error(core::ExitCode::internal, "only passes and updates show in a trace");
  }
}

}  // namespace penstock::program
