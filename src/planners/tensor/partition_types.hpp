#pragma once
// How to divide the operators of a plan's only stage: one partition type each, for the least time.

#include <cstdint>
#include <limits>
#include <vector>

#include "penstock/core/stop.hpp"
#include "tensor/min_sum.hpp"
#include "tensor/type_costs.hpp"

namespace penstock::planners {

/// Seconds of an iteration of a plan's only stage: as many cost::stage_time as there are micro-batches, then
/// its cost::reductions, then the longest cost::step_time.
double lone_stage_seconds(const cost::Problem& problem, const plan::Stage& stage);

/// The dynamic programme of AccPar (Song et al., HPCA 2020) over whole graphs: a variable per operator for
/// its type, and one per tensor with several readers for the layouts it is had in, so that two readers pay a
/// conversion once; the terms are those of layout/convert.hpp. Multi-path structures, which the paper takes
/// apart at their forks and joins, fall to variable elimination (MinSum). A reduction takes the fastest of
/// several algorithms for the sum of all bytes: every choice of algorithms is solved, and the least is exact.
/// The slowest device counts: exact where all devices of a stage are alike, as are the links of its groups;
/// else each kind of device is taken for the slowest in turn, then the slowest at every operator, and the
/// best of their plans is an upper bound. So it is where MinSum holds variables.
class PartitionTypes {
 public:
  /// `problem` outlives it.
  explicit PartitionTypes(const cost::Problem& problem);

  struct Found {
    plan::Stage stage;
    double seconds = 0;        ///< lone_stage_seconds
    double bound = 0;          ///< no types take less, where `exact`; without price
    std::uint64_t solved = 0;  ///< dynamic programmes
  };
  /// `stage` with a type for every operator, the best for seconds + `price` x bytes of weights and
  /// activations on its fullest device. Throws as `stop` does.
  Found best(const plan::Stage& stage, double price, core::StopToken stop) const;
  bool exact() const { return sum_.exact(); }

 private:
  struct Tables {
    std::vector<MinSum::Table> single, paired;
  };
  struct Choice {
    double seconds = std::numeric_limits<double>::infinity();
    std::vector<int> labels;
  };
  Tables tables(const TypeCosts& costs, const TypeCosts::Clock& clock, double price) const;
  MinSum::Table pair_table(std::size_t pair, const TypeCosts& costs, const TypeCosts::Clock& clock,
                           double price) const;
  MinSum::Table tie_table(std::size_t pair) const;  ///< forbids different shards or sums of one parameter
  Choice solve(const Tables& tables, const TypeCosts& costs, const std::vector<MinSum::Table>& weights,
               core::StopToken stop) const;
  plan::Stage typed(plan::Stage stage, const std::vector<int>& labels) const;

  const cost::Problem& problem_;
  std::vector<MinSum::Pair> pairs_;
  std::vector<core::OpId> producers_;  ///< of the tensor that a pair is about; invalid of a tie
  MinSum sum_;  ///< one variable per operator, then those for tensors with several readers
};

}  // namespace penstock::planners
