#pragma once
// One thing that all devices of a rank do.

#include <cstdint>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/ids.hpp"
#include "penstock/schedule/schedule.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::program {

/// A pass, a sum of gradients, an update or a barrier.
struct Instruction {
  schedule::ActionKind kind =
      schedule::ActionKind::forward;  ///< forward, backward, input_gradient, weight_gradient,
                                      ///< recompute, reduce_gradient, step or barrier
  bool joined = false;                ///< a pass that runs as one with the instruction before it
  std::int16_t piece = -1;            ///< of a pass that its collectives cut: behind each piece but the last
                                      ///< its group runs one of them (LoweringOptions::pieces)
  core::StageId stage{};              ///< invalid of a barrier
  std::int32_t micro_batch = -1;      ///< of a pass, as the row counts (Share::in_row)
  std::int32_t bucket = -1;  ///< of a sum; of a pass that fills this bucket alone, the last of a mini-batch
  std::int32_t shared = -1;  ///< of a sum among stages: index into Program::shared
};
static_assert(sizeof(Instruction) == 20, "ten million passes should stay small");

using Row = std::vector<Instruction>;

/// Whether it takes its device's time: a pass or an update.
constexpr bool computes(schedule::ActionKind kind) {
  using enum schedule::ActionKind;
  return kind == forward || kind == backward || kind == input_gradient || kind == weight_gradient ||
         kind == recompute || kind == step;
}
/// Ends what is held of its micro-batch.
constexpr bool releases(schedule::ActionKind kind) {
  return kind == schedule::ActionKind::backward || kind == schedule::ActionKind::weight_gradient;
}
/// What computes, as a trace shows it.
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
