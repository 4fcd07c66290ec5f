#include <algorithm>

#include "families.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "row_plan.hpp"

namespace penstock::planners {
namespace {

/// Equally many units per stage, as near as can be.
std::vector<std::size_t> uniform(std::size_t stages, std::size_t units) {
  std::vector<std::size_t> ends;
  for (std::size_t s = 1; s <= stages; ++s) ends.push_back(s * units / stages);
  return ends;
}

/// Stages per device that interleaving may have, one included: equal stages, rounds of as many micro-batches
/// as ranks, and a schedule that can be made.
std::vector<std::size_t> chunk_counts(const cost::Problem& problem, std::size_t ranks, std::size_t units,
                                      std::int64_t micro_batch) {
  const auto micro_batches = static_cast<std::size_t>(problem.training.mini_batch / micro_batch);
  std::vector<std::size_t> out = {1};
  if (ranks == 1 || ranks > schedule::kMostRanks || micro_batches > schedule::kMostMicroBatches) return out;
  if (micro_batches % ranks != 0) return out;
  const std::size_t most =
      std::min<std::size_t>(schedule::kMostChunks, schedule::kMostGridPasses / (ranks * micro_batches));
  for (std::size_t v = 2; v * ranks <= units && v <= most; ++v)
    if (units % (v * ranks) == 0) out.push_back(v);
  return out;
}

}  // namespace

// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC
// 2021: pipeline times data parallel size is the device count, layers are dealt out uniformly, in v chunks
// per device where they divide (section 2.2). Differs: no tensor parallelism; a layer is a planning unit of
// any model in one row; where layers do not divide, stages differ by one; and instead of the takeaways of
// section 3 every (p, d, v, b) is judged.
SearchResult megatron(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  refuse_size_per_stage(options, "megatron");
  refuse_k(options, "megatron");
  const Units units = planning_units(problem.graph);
  const std::size_t size = units.operators.size();
  std::vector<EvenRow> rows;
  for (int replicas : rank_sizes(problem, options)) {
    const std::size_t ranks = problem.cluster.size() / static_cast<std::size_t>(replicas);
    if (ranks > size) continue;
    for (std::int64_t micro_batch : sizes_for(problem, options, replicas))
      for (std::size_t v : chunk_counts(problem, ranks, size, micro_batch))
        rows.push_back({v * ranks, replicas, micro_batch, 1, v == 1 ? "1f1b" : "interleaved_1f1b", false});
  }
  const auto cut = [&](const EvenRow& row) { return uniform(row.stages, size); };
  return fastest(problem, options, units, rows, cut, no_even_row(problem, size), stop);
}

}  // namespace penstock::planners
