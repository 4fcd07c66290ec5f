#pragma once
// Local moves of a whole plan, by what they change.

#include <functional>
#include <vector>

#include "joint/plan_space.hpp"

namespace penstock::planners {

/// Changes a copy of the draft that it was made for; the result may be no valid plan (PlanSpace::completed).
using Move = std::function<void(PlanDraft&)>;
using Moves = std::vector<Move>;

/// Input of moves: a draft, and derived data.
struct MoveContext {
  MoveContext(const PlanSpace& of, const PlanDraft& draft);

  const PlanSpace& space;
  const PlanDraft& draft;
  std::vector<std::vector<std::size_t>> units;  ///< [stage] units in topological order
  std::vector<std::vector<std::size_t>> ranks;  ///< [rank] its stages, which share all devices
};

/// Units from an end of a stage go to another stage; two stages are merged, one is split.
Moves cut_moves(const MoveContext& sight);
/// Devices go to another rank, two ranks swap devices; all are reassigned, node by node or across nodes.
Moves device_moves(const MoveContext& sight);
/// Micro-batch, k, samples in flight, order of a row; of all stages, or of one if the schedule allows.
Moves pace_moves(const MoveContext& sight);
/// Tensor-parallel degree, sequence parallelism, ZeRO stage, recomputation; of a stage, a rank, or all.
Moves memory_moves(const MoveContext& sight);
/// Groups that divide tokens or experts, and number of devices per ZeRO group; of a rank, or all.
Moves mesh_moves(const MoveContext& sight);
/// Partitions of operators in tensor-parallel stages: all of a kind, those of one stage, or one operator.
Moves partition_moves(const MoveContext& sight);
/// Another schedule family with its number of stages per device, or half or twice as many ranks. The row of
/// units is cut again in proportion to the previous ranks.
Moves shape_moves(const MoveContext& sight);
/// Parallel branches go to separate ranks, each with all samples at once: without a pipeline, devices have
/// fewer operators and more samples of each. The trunk, where branches meet, goes to one of the ranks.
Moves branch_moves(const MoveContext& sight);

/// Units of a row go from a stage to any other stage, through those between: each passes on as many as it
/// gets.
Moves shift_moves(const MoveContext& sight);

/// Parts of the initial plan that a search may change.
enum class ChangeScope : std::uint8_t {
  all,
  cuts,  ///< boundaries of stages; neither their number nor their devices
};

/// Moves by kind.
std::vector<Moves> moves(const MoveContext& sight, ChangeScope change);

}  // namespace penstock::planners
