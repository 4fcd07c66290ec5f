#pragma once
// What operators cost on a tensor-parallel group, one by one: for planners whose models add up layers.

#include <span>
#include <vector>

#include "penstock/cost/sharding.hpp"

namespace penstock::planners {

/// How the operators of the whole model are divided, as if it were one stage; and how else a stage may divide
/// them.
class ShardedOperators {
 public:
  /// Groups of `degree` > 1 devices, within a node where some node has as many.
  ShardedOperators(const cost::Problem& problem, int degree);

  int degree() const { return degree_; }
  /// What one device holds of these operators: of copies in other placements those of what they make, as the
  /// whole model has them.
  cost::StageLoad load(std::span<const core::OpId> operators) const;

 private:
  friend class ShardedTimes;
  /// One operator divided in some way, with everything that it could ask of its group in any stage.
  struct Way {
    plan::Partition partition;
    layout::StageLayout alone;
  };

  std::vector<Way> ways(core::OpId id) const;
  cost::OpShard part(core::OpId id) const;
  std::vector<core::OpId> readers(core::OpId made) const;
  std::vector<core::OpId> whole_readers(core::OpId made) const;  ///< those that need all of it
  std::vector<core::OpId> summing_readers(
      core::OpId made) const;  ///< those with partial sums of its gradient
  void find_groups();

  const cost::Problem& problem_;
  int degree_;
  std::vector<std::size_t> types_;                        ///< of devices
  std::vector<cost::AllReduce> all_reduce_, all_gather_;  ///< [group], equal ones once
  layout::StageLayout layout_;
  std::vector<cost::HeldCopy> copies_;
  std::vector<std::vector<Way>> ways_;  ///< [operator]
};

/// The same in seconds of a micro-batch, for a planner that charges operators and, where it cuts, tensors.
///
/// A stage divides its operators by their neighbours inside it (layout/infer.hpp), so its time is no sum
/// over operators. Here each is divided as in the whole model, and what a cut changes is charged where the
/// cut is:
///  - a tensor that lies whole is gathered by its reader in another stage, and its gradient where it was
///  made;
///  - products that read one tensor share the all-reduce of its gradient: one that is cut off from the first
///  of them has its own;
///  - where a tensor lies divided and its reader goes on with the parts, a stage that begins there is divided
///  otherwise. The
///    reader pays what it and all operators behind it whose division may change could take more.
/// A stage takes exactly the sum if tensors lie whole at its ends and each is read by one operator of another
/// stage at most; any other takes no more than that. Differs in one respect: what is gathered on entering
/// counts once, though a stage that recomputes gathers it again.
class ShardedTimes {
 public:
  struct Passes {
    double forward = 0, total = 0;  ///< s
  };

  ShardedTimes(const ShardedOperators& operators, std::int64_t samples);

  /// Of these operators, on the slowest device type and in the slowest group.
  Passes of(std::span<const core::OpId> operators) const;
  /// Seconds that the stage of `made` takes more, and the stage of `reader`, where these differ.
  double output_time(core::OpId made, core::OpId reader) const;
  double input_time(core::OpId made, core::OpId reader) const;

 private:
  Passes compute(core::OpId id, plan::Partition how) const;
  double seconds(const layout::GroupCollective& collective) const;
  double all_gather_time(core::OpId made) const;
  double summed(core::OpId made) const;
  double most_excess(core::OpId id) const;
  double behind(core::OpId reader) const;

  const ShardedOperators& operators_;
  std::int64_t samples_;
  std::vector<Passes> times_;   ///< [operator]
  std::vector<double> excess_;  ///< [operator] what another division could take more
};

}  // namespace penstock::planners
