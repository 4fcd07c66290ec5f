#pragma once
// Division of the operators of a single-stage plan: one partition type per operator, for the minimum time.

#include <cstdint>
#include <limits>
#include <vector>

#include "penstock/core/stop.hpp"
#include "tensor/min_sum.hpp"
#include "tensor/type_costs.hpp"

namespace penstock::planners {

/// Seconds of an iteration of a single-stage plan: cost::stage_time per micro-batch, then its
/// cost::reductions, then the longest cost::step_time.
double lone_stage_seconds(const cost::Problem& problem, const plan::Stage& stage);

/// The dynamic programme of AccPar (Song et al., HPCA 2020) over whole graphs. There is a variable per
/// operator for its type, and one per tensor with several readers for its layouts, so that two readers pay a
/// conversion once. The terms are those of layout/convert.hpp. The paper splits multi-path structures at
/// their forks and joins; here variable elimination (MinSum) handles them. A reduction uses the fastest of
/// several algorithms for the sum of all bytes: every choice of algorithms is solved, and the minimum is
/// exact. The slowest device counts. The result is exact if all devices of a stage are equal, and the links
/// of its groups. Otherwise each kind of device is treated as the slowest in turn, then the slowest at every
/// operator; the best of these plans is an upper bound. So it is if MinSum fixes variables.
class PartitionTypes {
 public:
  /// `problem` must outlive it.
  explicit PartitionTypes(const cost::Problem& problem);

  struct TypeChoice {
    plan::Stage stage;
    double seconds = 0;        ///< lone_stage_seconds
    double bound = 0;          ///< lower bound for all types if `exact`; without the price
    std::uint64_t solved = 0;  ///< number of dynamic programmes
  };
  /// Returns `stage` with the type of every operator that minimises seconds + `price` x bytes of weights and
  /// activations on its fullest device. Throws like `stop`.
  TypeChoice best(const plan::Stage& stage, double price, core::StopToken stop) const;
  bool exact() const { return sum_.exact(); }

 private:
  struct LabelTables {
    std::vector<MinSum::Table> single, paired;
  };
  struct LabelChoice {
    double seconds = std::numeric_limits<double>::infinity();
    std::vector<int> labels;
  };
  LabelTables tables(const TypeCosts& costs, const TypeCosts::GroupClock& clock, double price) const;
  MinSum::Table pair_table(std::size_t pair, const TypeCosts& costs, const TypeCosts::GroupClock& clock,
                           double price) const;
  MinSum::Table tie_table(std::size_t pair) const;  ///< forbids different shards or sums of one parameter
  LabelChoice solve(const LabelTables& tables, const TypeCosts& costs,
                    const std::vector<MinSum::Table>& weights, core::StopToken stop) const;
  plan::Stage typed(plan::Stage stage, const std::vector<int>& labels) const;

  const cost::Problem& problem_;
  std::vector<MinSum::Pair> pairs_;
  std::vector<core::OpId> producers_;  ///< producer of the tensor that a pair concerns; invalid for a tie
  MinSum sum_;  ///< one variable per operator, then those for tensors with several readers
};

}  // namespace penstock::planners
