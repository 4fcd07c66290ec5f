#pragma once
// Local changes of a whole plan, by what they change.

#include <functional>
#include <vector>

#include "joint/plan_space.hpp"

namespace penstock::planners {

/// Changes a copy of the draft that it was made for; what comes of it may be no plan (PlanSpace::completed).
using Move = std::function<void(Draft&)>;
using Moves = std::vector<Move>;

/// What moves look at: a draft, and what its parts are made of.
struct Sight {
  Sight(const PlanSpace& of, const Draft& draft);

  const PlanSpace& space;
  const Draft& draft;
  std::vector<std::vector<std::size_t>> units;  ///< [stage] in topological order
  std::vector<std::vector<std::size_t>> ranks;  ///< [rank] its stages; they share all devices
};

/// Units from an end of a stage go to another one; two stages become one, one becomes two.
Moves cut_moves(const Sight& sight);
/// Devices go to another rank, two ranks swap them; all are dealt out anew, node by node or across nodes.
Moves device_moves(const Sight& sight);
/// Micro-batch, k, samples in flight, order of a row; of all stages, or of one where the schedule allows.
Moves pace_moves(const Sight& sight);
/// Tensor-parallel degree, sequence parallelism, ZeRO stage, recomputation; of a stage, a rank, or all.
Moves memory_moves(const Sight& sight);
/// Groups that divide tokens or experts, and how many devices share by ZeRO; of a rank, or all.
Moves mesh_moves(const Sight& sight);
/// How operators of tensor-parallel stages are divided: all of a kind, those of one stage, or one.
Moves partition_moves(const Sight& sight);
/// Another schedule family, as many stages per device as it has, half or twice as many ranks: the row of
/// units is cut anew in proportion to what the ranks had.
Moves shape_moves(const Sight& sight);
/// Parallel branches go to ranks of their own, each with all samples at once: without a pipeline devices have
/// fewer operators, and more samples of each. The trunk, where they meet, goes to one of the ranks.
Moves branch_moves(const Sight& sight);

/// Units of a row go from a stage to any other, through those between: each hands on as many as it gets.
Moves shift_moves(const Sight& sight);

/// What may differ from the plan that a search begins with.
enum class Change : std::uint8_t {
  all,
  cuts,  ///< where stages begin and end; neither how many there are nor what they run on
};

/// Kind by kind.
std::vector<Moves> moves(const Sight& sight, Change change);

}  // namespace penstock::planners
