#pragma once
// Costs of operators on a tensor-parallel group, one by one, for planners whose models add up layers.

#include <span>
#include <vector>

#include "penstock/cost/sharding.hpp"

namespace penstock::planners {

/// Division of the operators of the whole model, as if it were one stage; and the other divisions that a
/// stage may use.
class ShardedOperators {
 public:
  /// For groups of `degree` > 1 devices, within a node if some node has as many.
  ShardedOperators(const cost::Problem& problem, int degree);

  int degree() const { return degree_; }
  /// Load of one device for these operators. Copies in other placements count for the operators that make
  /// them, as in the whole model.
  cost::StageLoad load(std::span<const core::OpId> operators) const;

 private:
  friend class ShardedTimes;
  /// One operator divided in some way, with all collectives that it could need in any stage.
  struct OperatorDivision {
    plan::Partition partition;
    layout::StageLayout alone;
  };

  std::vector<OperatorDivision> ways(core::OpId id) const;
  cost::OpShard part(core::OpId id) const;
  std::vector<core::OpId> readers(core::OpId made) const;
  std::vector<core::OpId> whole_readers(core::OpId made) const;  ///< readers that need the whole tensor
  std::vector<core::OpId> summing_readers(
      core::OpId made) const;  ///< readers with partial sums of its gradient
  void find_groups();

  const cost::Problem& problem_;
  int degree_;
  std::vector<std::size_t> types_;                        ///< device types
  std::vector<cost::AllReduce> all_reduce_, all_gather_;  ///< [group] equal ones once
  layout::StageLayout layout_;
  std::vector<cost::HeldCopy> copies_;
  std::vector<std::vector<OperatorDivision>> ways_;  ///< [operator]
};

/// Times of operators in seconds of a micro-batch, for a planner that charges operators and, at cuts,
/// tensors.
///
/// A stage divides its operators by their neighbours inside it (layout/infer.hpp), so its time is no sum over
/// operators. Here each operator is divided as in the whole model, and the changes that a cut causes are
/// charged at the cut:
///  - A replicated tensor is gathered by its reader in another stage, and its gradient where it was made.
///  - Products that read one tensor share the all-reduce of its gradient; a product cut off from the first
///    of them has its own.
///  - If a tensor is sharded and its reader continues with the shards, a stage that begins there is divided
///    differently. The reader pays the maximum additional time of itself and all operators behind it whose
///    division may change.
/// The sum is exact if tensors are replicated at the ends of a stage and each is read by at most one operator
/// of another stage. Otherwise it is an upper bound. Exception: a tensor gathered on entering counts once,
/// though a stage that recomputes gathers it again.
class ShardedTimes {
 public:
  struct OperatorPasses {
    double forward = 0, total = 0;  ///< s
  };

  ShardedTimes(const ShardedOperators& operators, std::int64_t samples);

  /// Times of these operators, on the slowest device type and in the slowest group.
  OperatorPasses of(std::span<const core::OpId> operators) const;
  /// Additional seconds of the stage of `made`, and of the stage of `reader`, if these differ.
  double output_time(core::OpId made, core::OpId reader) const;
  double input_time(core::OpId made, core::OpId reader) const;

 private:
  OperatorPasses compute(core::OpId id, plan::Partition how) const;
  double seconds(const layout::GroupCollective& collective) const;
  double all_gather_time(core::OpId made) const;
  double summed(core::OpId made) const;
  double most_excess(core::OpId id) const;
  double behind(core::OpId reader) const;

  const ShardedOperators& operators_;
  std::int64_t samples_;
  std::vector<OperatorPasses> times_;  ///< [operator]
  std::vector<double> excess_;         ///< [operator] maximum additional time of another division
};

}  // namespace penstock::planners
