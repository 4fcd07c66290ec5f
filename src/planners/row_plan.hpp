#pragma once
// Plans that run the operators in one row on ranks of equal device counts, and the choice of the fastest.

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "penstock/planners/planner.hpp"
#include "units.hpp"

namespace penstock::planners {

/// An even row. Stage s holds a run of units on rank s mod ranks; rank r has the r-th devices() devices. Each
/// stage waits for the one before it, as in `spp`.
struct EvenRow {
  std::size_t stages = 1;
  int replicas = 1;  ///< replicas per rank
  std::int64_t micro_batch = 1;
  int k = 1;
  std::string schedule = "1f1b";
  plan::Recomputation recompute{};  ///< in all stages; by layers: in stages that have some
  int tensor_parallel = 1;          ///< devices per tensor-parallel group
  int zero = 0;                     ///< ZeRO stage, in all stages
  /// If the row does not fit, tensor-parallel groups also divide tokens. If that does not suffice, replicas
  /// shard optimizer state (ZeRO 1); then stages also recompute attention's cores, or all layers.
  bool thrift_at_need = false;
  bool sequence_parallel = false;  ///< in all stages
  int context_parallel = 1;        ///< context groups per replica, in a ring
  int expert_parallel = 1;         ///< in all stages; divides replicas times context groups
  bool whole_experts = false;      ///< in all stages, with sequence_parallel

  int devices() const {
    return replicas * tensor_parallel * context_parallel;
  }  ///< devices per rank; divides the cluster
};
/// `ends`: one past the last unit of each stage.
plan::Plan row_plan(const cost::Problem& problem, const UnitGraph& units, const EvenRow& row,
                    const std::vector<std::size_t>& ends);
/// Cuts such a row for a planner; called from any thread.
using RowCut = std::function<std::vector<std::size_t>(const EvenRow&)>;

/// Forward and backward times of runs of units on the slowest device of a rank, without transfers.
class RunTimes {
 public:
  /// For micro-batches of `micro_batch` samples, split over `replicas`.
  RunTimes(const cost::Problem& problem, const UnitGraph& units, std::int64_t micro_batch, int replicas,
           bool recompute);
  /// Seconds per micro-batch.
  double operator()(std::size_t rank, std::size_t begin, std::size_t end) const;

 private:
  std::vector<std::vector<double>> until_;       ///< [device type][unit] sum over all units before
  std::vector<std::vector<std::size_t>> types_;  ///< [rank] its device types
};

/// Device counts that a rank may have, ascending: divisors of the cluster; only powers of two without
/// any_degree.
std::vector<int> rank_sizes(const cost::Problem& problem, const SearchOptions& options);

/// Reason why there is no even row, in words.
std::string no_even_row(const cost::Problem& problem, std::size_t units);

/// Throws BadInput: the planner gives all stages one micro-batch size.
void refuse_size_per_stage(const SearchOptions& options, const char* planner);
/// Throws BadInput: the planner's schedule has no k.
void refuse_k(const SearchOptions& options, const char* planner);

/// Seconds of an iteration, to compare plans: options.evaluate, or score::estimate.
double judged_seconds(const cost::Problem& problem, const SearchOptions& options, const plan::Plan& plan);
/// Returns the fastest valid plan, the first among equals. All rows are cut and evaluated in parallel; those
/// not reached at the deadline are left out. If there are more rows than `most_evaluated`, options.evaluate
/// runs only for those with the smallest score::estimate. Throws Infeasible with the violation of the row
/// that needs the least memory, or with `none` if there is no row; LimitHit if a limit left no plan.
SearchResult fastest(const cost::Problem& problem, const SearchOptions& options, const UnitGraph& units,
                     const std::vector<EvenRow>& rows, const RowCut& cut, const std::string& none,
                     core::StopToken stop,
                     std::size_t most_evaluated = std::numeric_limits<std::size_t>::max());

}  // namespace penstock::planners
