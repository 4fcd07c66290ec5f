#pragma once
// A pipeline reduced to machines and times: what is left of a plan where all stages have one micro-batch
// size.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/core/units.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

enum class Phase : std::uint8_t { forward, backward };

struct Task {
  Phase phase = Phase::forward;
  std::int32_t micro_batch = 0;
  friend bool operator==(const Task&, const Task&) = default;
};

/// Token form, one cell per task: "F0 F1 B0 F2 B1 B2".
std::string tokens(const std::vector<Task>& row);

/// The order of one stage as actions of a schedule.
RankOrder rank_order(std::int32_t stage, const std::vector<Task>& tasks);

/// Times of one micro-batch; none is negative.
struct PipelineStage {
  core::Picoseconds forward, backward;
  int room = 0;               ///< micro-batches it may hold from the start of F to the end of B; 0: no limit
  core::Picoseconds after{};  ///< all-reduce once its last backward is done; takes no machine
  /// What `backward` begins with and needs no gradient for: the forward once more, where a stage recomputes.
  /// Bounds reckon with it done while gradients are on their way; orders here start the whole of it with the
  /// gradient.
  core::Picoseconds early{};
  friend bool operator==(const PipelineStage&, const PipelineStage&) = default;
};

/// Tensors one way, their gradients the other way.
struct PipelineLink {
  int from = 0, to = 0;                 ///< stages, from < to
  core::Picoseconds forward, backward;  ///< how long a micro-batch occupies the link
  /// From leaving the link to arrival; the link is free meanwhile.
  core::Picoseconds forward_latency{}, backward_latency{};
};

/// Stages are machines, and so is every link: with two directions at once it is two machines, else one.
struct Pipeline {
  std::vector<PipelineStage> stages;  ///< producers first
  std::vector<PipelineLink> links;
  int micro_batches = 1;
  bool full_duplex = true;
};

/// The first rule that the pipeline breaks, in words; empty when there is none. Times whose sum over the
/// iteration leaves the clock are a violation.
std::string violation(const Pipeline& pipeline);

/// Throws BadInput where `violation` finds something, and a limit error for more than plan::kMostPasses
/// tasks: orders and their execution hold every one.
void check_runnable(const Pipeline& pipeline);

/// One task of a micro-batch.
struct Step {
  std::size_t machine = 0;
  Phase phase = Phase::forward;
  core::Picoseconds duration, latency;  ///< the next steps may start a latency after the end
  std::vector<std::size_t> waits_for;   ///< steps
  std::vector<std::size_t> awaited_by;  ///< steps
};

/// One micro-batch unrolled. A site is a stage or a link; stages come first.
struct Unrolled {
  explicit Unrolled(const Pipeline& pipeline);  ///< throws BadInput where `violation` finds something

  std::size_t forward(std::size_t site) const { return site; }
  std::size_t backward(std::size_t site) const { return sites + site; }

  std::size_t sites = 0;
  std::size_t machines = 0;
  std::vector<Step> steps;                         ///< by forward() and backward()
  std::vector<std::size_t> topological;            ///< steps, each after those it waits for
  std::vector<std::vector<std::size_t>> steps_of;  ///< by machine: its forward, its backward, or both
};

/// An order of tasks per machine: stages, then links. With full duplex link e has rows S + 2e (forward) and S
/// + 2e + 1.
using MachineOrder = std::vector<std::vector<Task>>;

struct PipelineRun {
  core::Picoseconds makespan;                        ///< with all-reduces
  std::vector<std::vector<core::Picoseconds>> ends;  ///< by machine and position in its row
};

/// Every machine runs its row, each task as early as the row and its inputs allow. Throws BadInput where a
/// row does not hold each of its machine's tasks once ("machine 2 cell 5: ..."), an invalid-plan error on
/// deadlock. Room is not looked at: a row alone decides how many micro-batches its stage holds (`most_held`).
PipelineRun execute(const Pipeline& pipeline, const MachineOrder& order);

/// Micro-batches a stage holds at the fullest moment of its row.
int most_held(const std::vector<Task>& row);

}  // namespace penstock::schedule
