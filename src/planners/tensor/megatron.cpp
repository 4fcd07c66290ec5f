#include <algorithm>

#include "families.hpp"
#include "own_options.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"

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
      std::min<std::size_t>(schedule::kMostChunks, schedule::kMostSchedulePasses / (ranks * micro_batches));
  for (std::size_t v = 2; v * ranks <= units && v <= most; ++v)
    if (units % (v * ranks) == 0) out.push_back(v);
  return out;
}

/// Devices of a tensor-parallel group, which no node's end cuts: groups follow each other from device 0 on.
std::vector<int> group_sizes(const cost::Problem& problem, const SearchOptions& options) {
  const auto& devices = problem.cluster.devices();
  auto sizes = rank_sizes(problem, options);
  std::erase_if(sizes, [&](int size) {
    if (size > options.max_tensor_parallel.value_or(size)) return true;
    for (std::size_t d = 1; d < devices.size(); ++d)
      if (d % static_cast<std::size_t>(size) != 0 && devices[d].node != devices[d - 1].node) return true;
    return false;
  });
  return sizes;
}

/// Evaluations take much longer than estimates.
constexpr std::size_t kMostEvaluated = 64;

}  // namespace

const std::vector<PlannerOption>& tensor_parallel_options() {
  static const std::vector<PlannerOption> options = {tensor_parallel_limit()};
  return options;
}

// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC
// 2021: pipeline times tensor times data parallel size is the device count, tensor parallelism stays within a
// node, layers are dealt out uniformly, in v chunks per device where they divide (section 2). Differs: a
// layer is a planning unit of any model in one row, divided by the rule of layout/infer.hpp; where layers do
// not divide, stages differ by one; and instead of the takeaways of section 3 every (p, t, d, v, b) that fits
// is estimated, with tokens divided too, a distributed optimizer (ZeRO 1), attention's cores computed again
// (Korthikanti et al., MLSys 2023) and all layers, one after the other, where it does not fit else; and where
// plans are evaluated the 64 of least estimate are.
SearchResult megatron(const cost::Problem& problem, const SearchOptions& asked, core::StopToken stop) {
  const SearchOptions options = limited(asked, OwnValues("megatron", tensor_parallel_options(), asked.own));
  refuse_size_per_stage(options, "megatron");
  refuse_k(options, "megatron");
  const Units units = planning_units(problem.graph);
  const std::size_t size = units.operators.size(), devices = problem.cluster.size();
  std::vector<EvenRow> rows;
  for (int t : group_sizes(problem, options))
    for (int replicas : rank_sizes(problem, options)) {
      const std::size_t ranks = devices / static_cast<std::size_t>(t * replicas);
      if (ranks * static_cast<std::size_t>(t * replicas) != devices || ranks > size) continue;
      for (std::int64_t micro_batch : shared_sizes(problem, options, replicas))
        for (std::size_t v : chunk_counts(problem, ranks, size, micro_batch))
          rows.push_back(
              {v * ranks, replicas, micro_batch, 1, v == 1 ? "1f1b" : "interleaved_1f1b", {}, t, 0, true});
    }
  const auto cut = [&](const EvenRow& row) { return uniform(row.stages, size); };
  return fastest(problem, options, units, rows, cut, no_even_row(problem, size), stop, kMostEvaluated);
}

}  // namespace penstock::planners
