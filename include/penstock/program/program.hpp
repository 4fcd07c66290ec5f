#pragma once
// A lowered plan: the sequence of instructions of every rank. The simulator adds times; replay adds kernels,
// buffers and links.

#include <functional>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/program/sharing.hpp"
#include "penstock/program/stage_index.hpp"
#include "penstock/schedule/scheduled_plan.hpp"

namespace penstock::program {

struct StageProgram {
  std::size_t rank;  ///< rank whose row has the passes of the stage
  SampleSharing sharing;
  StageIndex index;

  /// Samples of all its micro-batches.
  std::int64_t samples() const { return static_cast<std::int64_t>(index.forward.size()) * sharing.round(); }
  /// Shares of its replicas in all its micro-batches.
  std::int64_t shares() const { return static_cast<std::int64_t>(index.forward.size()) * sharing.replicas; }
};

struct RankProgram {
  Row row;  ///< executed by all its devices
  /// Positions of instructions other than passes: reductions, STEPs and barriers.
  std::vector<std::int32_t> updates;
};

struct Program {
  std::vector<RankProgram> ranks;
  std::vector<StageProgram> stages;
  std::vector<plan::SharedParameters> shared;  ///< parameters shared among stages
};

/// Options in which simulation and replay differ.
struct LoweringOptions {
  /// [stage] number of gradient buckets; empty: one each. With several, the last backward pass of a
  /// mini-batch is cut at them, unless it runs as one with another pass.
  std::vector<std::int32_t> buckets{};
  /// Number of pieces into which collectives cut a pass, or the part of it that makes this bucket (-1: the
  /// whole pass). Passes of a pair are never cut. Empty: the time of passes includes collectives.
  std::function<std::size_t(core::StageId, schedule::ActionKind, std::int32_t bucket)> pieces{};
  /// True: an overlapped pair runs as its forward, then its backward.
  bool pairs_apart = false;
};

/// Lowers a scheduled plan. Rules beyond those of the order:
///   - A stage without weights has no STEP. It has no REDUCE_GRAD if all its weights are shared with other
///     stages, or if every device has weights of its own (plan::reduces_gradients), unless a pass is cut at
///     buckets.
///   - With a flush, each of the shared parameters has one reduction, after the row's last REDUCE_GRAD and
///     the last gradient of the stages that share it; for stages behind the pipeline, after their last
///     gradient on the rank. These reductions have the same order on all ranks, so that no two ranks wait
///     for each other.
///   - A stage receives at most one micro-batch ahead of those it may hold (StageIndex::forward_gate).
/// Precondition: plan::structural_violations and the order have no violations. Throws BadInput for actions
/// that a program cannot hold (EVICT, LOAD, messages), and if a stage is updated before the reduction of its
/// shared parameters. Throws Error(limit) for a pass of more than 32,767 pieces.
Program lower(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled,
              const LoweringOptions& options = {});

/// A gradient reduction among a stage's replicas.
struct GradientSum {
  std::int32_t position = -1;  ///< in the row
  std::int32_t step = -1;      ///< position of the STEP that waits for it; -1: none
};
/// Reductions in the order of the row. A STEP waits for one reduction per bucket of its stage: the earliest
/// that no earlier STEP waits for, because another update may already be under way.
std::vector<GradientSum> gradient_sums(const RankProgram& rank);

}  // namespace penstock::program
