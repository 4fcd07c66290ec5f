#pragma once
// A pipeline reduced to machines and times, for plans in which all stages have one micro-batch size.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/core/units.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

enum class PassPhase : std::uint8_t { forward, backward };

struct Task {
  PassPhase phase = PassPhase::forward;
  std::int32_t micro_batch = 0;
  friend bool operator==(const Task&, const Task&) = default;
};

/// Tokens of a row, one cell per task: "F0 F1 B0 F2 B1 B2".
std::string tokens(const std::vector<Task>& row);

/// Order of one stage as actions of a schedule.
RankOrder rank_order(std::int32_t stage, const std::vector<Task>& tasks);

/// Times of one micro-batch in a stage; not negative.
struct PipelineStage {
  core::Picoseconds forward, backward;
  int room = 0;  ///< maximum number of micro-batches from the start of F to the end of B; 0: no limit
  core::Picoseconds after{};  ///< all-reduce after the last backward; occupies no machine
  /// Part at the beginning of `backward` that needs no gradient: the repeated forward of a stage that
  /// recomputes. Bounds assume it runs while gradients are sent; orders here start all of `backward` with the
  /// gradient.
  core::Picoseconds early{};
  friend bool operator==(const PipelineStage&, const PipelineStage&) = default;
};

/// A link: tensors in one direction, their gradients in the other.
struct PipelineLink {
  int from = 0, to = 0;                 ///< stages, from < to
  core::Picoseconds forward, backward;  ///< time for which a micro-batch occupies the link
  /// Time from leaving the link to arrival; the link is free meanwhile.
  core::Picoseconds forward_latency{}, backward_latency{};
};

/// Stages and links are machines; a full-duplex link is two machines.
struct Pipeline {
  std::vector<PipelineStage> stages;  ///< producers first
  std::vector<PipelineLink> links;
  int micro_batches = 1;
  bool full_duplex = true;
};

/// Returns the first rule that the pipeline breaks, in words; empty if there is none. Total times beyond the
/// range of the clock are a violation.
std::string violation(const Pipeline& pipeline);

/// Throws BadInput if `violation` finds something, and a limit error for more than plan::kMostPasses tasks,
/// because orders and their execution store every task.
void check_runnable(const Pipeline& pipeline);

/// One task of a micro-batch.
struct PipelineStep {
  std::size_t machine = 0;
  PassPhase phase = PassPhase::forward;
  core::Picoseconds duration, latency;  ///< the next steps may start `latency` after its end
  std::vector<std::size_t> waits_for;   ///< steps
  std::vector<std::size_t> awaited_by;  ///< steps
};

/// Steps of one micro-batch. A site is a stage or a link; stages come first.
struct UnrolledPipeline {
  explicit UnrolledPipeline(const Pipeline& pipeline);  ///< throws BadInput if `violation` finds something

  std::size_t forward(std::size_t site) const { return site; }
  std::size_t backward(std::size_t site) const { return sites + site; }

  std::size_t sites = 0;
  std::size_t machines = 0;
  std::vector<PipelineStep> steps;                 ///< indexed by forward() and backward()
  std::vector<std::size_t> topological;            ///< steps, each after those it waits for
  std::vector<std::vector<std::size_t>> steps_of;  ///< [machine] its forward, its backward, or both
};

/// [machine] order of tasks: stages, then links. With full duplex link e has rows S + 2e (forward) and S + 2e
/// + 1.
using MachineOrder = std::vector<std::vector<Task>>;

struct PipelineRun {
  core::Picoseconds makespan;                        ///< including all-reduces
  std::vector<std::vector<core::Picoseconds>> ends;  ///< [machine][position in its row] end
};

/// Runs every machine's row, each task as early as the row and its inputs allow. Throws BadInput if a row
/// does not hold each of its machine's tasks once ("machine 2 cell 5: ..."), an invalid-plan error on
/// deadlock. Ignores room: a row determines how many micro-batches its stage holds (`most_held`).
PipelineRun execute(const Pipeline& pipeline, const MachineOrder& order);

/// Maximum number of micro-batches that a stage holds during its row.
int most_held(const std::vector<Task>& row);

}  // namespace penstock::schedule
