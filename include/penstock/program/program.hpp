#pragma once
// A plan, lowered: what every rank runs, one instruction after the other. The simulator puts times on it,
// replay gives it kernels, buffers and links.

#include <functional>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/program/sharing.hpp"
#include "penstock/program/stage_index.hpp"
#include "penstock/schedule/scheduled_plan.hpp"

namespace penstock::program {

struct Stage {
  std::size_t rank;  ///< whose row has its passes
  Sharing sharing;
  StageIndex index;

  /// Of all its micro-batches.
  std::int64_t samples() const { return static_cast<std::int64_t>(index.forward.size()) * sharing.round(); }
  /// Of its replicas, in all its micro-batches.
  std::int64_t shares() const { return static_cast<std::int64_t>(index.forward.size()) * sharing.replicas; }
};

struct Rank {
  Row row;                            ///< followed by all its devices
  std::vector<std::int32_t> updates;  ///< positions of what is no pass: sums, STEPs and barriers
};

struct Program {
  std::vector<Rank> ranks;
  std::vector<Stage> stages;
  std::vector<plan::SharedParameters> shared;  ///< among stages
};

/// In what simulation and replay really differ.
struct LoweringOptions {
  /// [stage] buckets of its gradients; empty: one each. Of several, the last backward pass of a mini-batch is
  /// cut at them, unless it runs as one with another pass.
  std::vector<std::int32_t> buckets{};
  /// How many pieces the collectives within a pass cut it into, or what fills this bucket of its gradients
  /// (-1: all of it). Passes of a pair are never cut. Empty: collectives are part of the passes' time.
  std::function<std::size_t(core::StageId, schedule::ActionKind, std::int32_t bucket)> pieces{};
  /// An overlapped pair runs as its forward, then its backward, and not as one.
  bool pairs_apart = false;
};

/// Rules beyond those of the order:
///  - a stage without weights has no STEP. It has no REDUCE_GRAD where all its weights are shared with other
///  stages, or where every device has its own (plan::reduces_gradients), unless a pass is cut at buckets;
///  - with a flush, each of the shared parameters has one sum, after the row's last REDUCE_GRAD and the last
///  gradient of the stages that share it; those of stages behind the pipeline, after their last gradient on
///  the rank. The order of these sums is the same on all ranks, so that no two ranks wait for each other;
///  - a stage receives at most one micro-batch ahead of those it may hold (StageIndex::forward_gate).
/// Precondition: plan::structural_violations has none, the order no violations. Throws BadInput for actions
/// that no program holds (EVICT, LOAD, messages), and where a stage is updated before the sum of what it
/// shares; Error(limit) for a pass of more than 32,767 pieces.
Program lower(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled,
              const LoweringOptions& options = {});

/// A sum among a stage's replicas.
struct GradientSum {
  std::int32_t position = -1;  ///< in the row
  std::int32_t step = -1;      ///< position of the STEP that waits for it; -1: none
};
/// In the order of the row: a STEP waits for one sum of each bucket of its stage, the earliest that no STEP
/// before it waits for; another update may be under way already.
std::vector<GradientSum> gradient_sums(const Rank& rank);

}  // namespace penstock::program
