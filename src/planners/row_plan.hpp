#pragma once
// Plans that run the operators in one row on ranks of equally many devices, and the choice of the fastest of
// them.

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "penstock/planners/planner.hpp"
#include "units.hpp"

namespace penstock::planners {

/// Stage s holds a run of units, on rank s mod ranks; rank r has the r-th devices() devices. Each stage
/// waits for the one before it, as in `spp`.
struct EvenRow {
  std::size_t stages = 1;
  int replicas = 1;  ///< of a rank
  std::int64_t micro_batch = 1;
  int k = 1;
  std::string schedule = "1f1b";
  plan::Recomputation recompute{};  ///< in all stages; of layers: in those that have some
  int tensor_parallel = 1;          ///< devices of a tensor-parallel group
  int zero = 0;                     ///< ZeRO stage, in all stages
  /// Where it does not fit, tensor-parallel groups divide tokens too; where that does not either, replicas
  /// share optimizer state (ZeRO 1), and then stages recompute attention's cores besides, or layer by layer.
  bool thrift_at_need = false;
  bool sequence_parallel = false;  ///< in all stages
  int context_parallel = 1;        ///< groups of a replica, round a ring
  int expert_parallel = 1;         ///< in all stages; divides replicas times context groups

  int devices() const {
    return replicas * tensor_parallel * context_parallel;
  }  ///< of a rank; divides the cluster
};
/// `ends`: one past the last unit of each stage.
plan::Plan row_plan(const cost::Problem& problem, const Units& units, const EvenRow& row,
                    const std::vector<std::size_t>& ends);
/// Where a planner cuts such a row; called from any thread.
using RowCut = std::function<std::vector<std::size_t>(const EvenRow&)>;

/// Forward and backward of runs of units, on the slowest device of a rank: no transfers.
class RunTimes {
 public:
  /// Micro-batches of `micro_batch` samples, split over `replicas`.
  RunTimes(const cost::Problem& problem, const Units& units, std::int64_t micro_batch, int replicas,
           bool recompute);
  /// Seconds per micro-batch.
  double operator()(std::size_t rank, std::size_t begin, std::size_t end) const;

 private:
  std::vector<std::vector<double>> until_;       ///< [device type][unit] of all units before
  std::vector<std::vector<std::size_t>> types_;  ///< [rank] device types in it
};

/// Device counts that a rank may have, ascending: divisors of the cluster, powers of two unless any degree
/// will do.
std::vector<int> rank_sizes(const cost::Problem& problem, const SearchOptions& options);

/// Why there is no row of even ranks at all.
std::string no_even_row(const cost::Problem& problem, std::size_t units);

/// Throws BadInput: the planner gives all stages one micro-batch size.
void refuse_size_per_stage(const SearchOptions& options, const char* planner);
/// Throws BadInput: the planner's schedule has no k.
void refuse_k(const SearchOptions& options, const char* planner);

/// Seconds of an iteration, by which plans are compared: options.evaluate, or score::estimate.
double judged_seconds(const cost::Problem& problem, const SearchOptions& options, const plan::Plan& plan);
/// The fastest valid plan, the first of equals; all rows are cut and judged in parallel, those not reached at
/// the deadline left out. Of more rows than `most_evaluated` only those of least score::estimate are judged
/// by options.evaluate. Throws Infeasible with the violation of the row that needs least memory, or `none`
/// where there is no row at all; LimitHit when a limit left no plan.
SearchResult fastest(const cost::Problem& problem, const SearchOptions& options, const Units& units,
                     const std::vector<EvenRow>& rows, const RowCut& cut, const std::string& none,
                     core::StopToken stop,
                     std::size_t most_evaluated = std::numeric_limits<std::size_t>::max());

}  // namespace penstock::planners
