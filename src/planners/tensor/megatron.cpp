#include <algorithm>

#include "families.hpp"
#include "own_options.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"
#include "tensor/mesh_sizes.hpp"

namespace penstock::planners {
namespace {

/// Ends of stages with equally many units, as nearly as possible.
std::vector<std::size_t> uniform(std::size_t stages, std::size_t units) {
  std::vector<std::size_t> ends;
  for (std::size_t s = 1; s <= stages; ++s) ends.push_back(s * units / stages);
  return ends;
}

/// Numbers of stages per device for interleaving, including one: equal stages, rounds of as many
/// micro-batches as ranks, and a valid schedule.
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

/// Sizes of tensor-parallel groups that no node boundary cuts; groups are consecutive from device 0 on.
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

constexpr const char* kMaxContextParallel = "max_context_parallel";
constexpr const char* kMaxExpertParallel = "max_expert_parallel";

/// Division of a rank's work among its devices.
struct RankDegrees {
  int tensor, context, replicas, expert;
  bool whole_experts = false;
};

/// Degrees that leave equally many devices for each rank; expert groups consist of replicas or context
/// groups, or of their devices, each with whole experts.
std::vector<RankDegrees> all_degrees(const cost::Problem& problem, const SearchOptions& options,
                                     const OwnValues& own) {
  const auto contexts = context_sizes(problem, options, own.number(kMaxContextParallel));
  const auto experts = expert_sizes(problem, options, own.number(kMaxExpertParallel));
  const auto devices = static_cast<std::int64_t>(problem.cluster.size());
  std::vector<RankDegrees> out;
  for (int t : group_sizes(problem, options))
    for (int c : contexts)
      for (int replicas : rank_sizes(problem, options))
        for (int e : experts)
          for (const bool whole : {false, true})
            if (devices % (std::int64_t{t} * c * replicas) == 0 && c * replicas * (whole ? t : 1) % e == 0 &&
                !(whole && (t == 1 || e == 1)))
              out.push_back({t, c, replicas, e, whole});
  return out;
}

/// Maximum number of evaluations, which take much longer than estimates.
constexpr std::size_t kMostEvaluated = 64;

}  // namespace

const std::vector<PlannerOption>& megatron_options() {
  static const std::vector<PlannerOption> options = {
      tensor_parallel_limit(),
      number(kMaxContextParallel, 1, 1, std::int64_t{1} << 20,
             "most groups that divide the tokens of a replica's samples, by powers of two; 1: none"),
      number(
          kMaxExpertParallel, 1, 1, std::int64_t{1} << 20,
          "most replicas, context groups among them, that divide the experts of every mixture, by powers of "
          "two; 1: none"),
      words("units", {"operators", "layers"},
            "what is dealt out: operators; or whole layers, as Megatron-LM does, of models that are a row of "
            "them")};
  return options;
}

const std::vector<PlannerOption>& tensor_parallel_options() {
  static const std::vector<PlannerOption> options = {tensor_parallel_limit()};
  return options;
}

// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC
// 2021. Pipeline times tensor times data parallel size is the device count. Tensor parallelism stays within a
// node, and layers are assigned uniformly, in v chunks per device if they divide (section 2).
//
// Differs: a layer is a planning unit of any model in one row (or a whole layer, as an option), divided by
// the rule of layout/infer.hpp. If units do not divide, stages differ by one. Instead of the takeaways of
// section 3, every (p, t, d, v, b) that fits is estimated; if plans are evaluated, the 64 with the smallest
// estimate are. Plans that do not fit also try, one after the other: divided tokens, a distributed optimizer
// (ZeRO 1), and recomputation of attention's cores (Korthikanti et al., MLSys 2023) and of all layers. With
// max_context_parallel replicas also divide their tokens (Megatron-LM's context parallelism), in a ring. With
// max_expert_parallel replicas and context groups divide experts, with one size in all stages, like
// Megatron-LM's --expert-model-parallel-size, and evenly loaded. Or all their devices do, each with whole
// experts (--expert-tensor-parallel-size 1).
SearchResult megatron(const cost::Problem& problem, const SearchOptions& asked, core::StopToken stop) {
  const OwnValues own("megatron", megatron_options(), asked.own);
  const SearchOptions options = limited(asked, own);
  refuse_size_per_stage(options, "megatron");
  refuse_k(options, "megatron");
  const UnitGraph units =
      own.word("units") == "layers" ? layer_units(problem.graph) : planning_units(problem.graph);
  const std::size_t size = units.operators.size(), devices = problem.cluster.size();
  std::vector<EvenRow> rows;
  for (const auto& [t, c, replicas, e, whole] : all_degrees(problem, options, own)) {
    const std::size_t ranks = devices / static_cast<std::size_t>(t * c * replicas);
    if (ranks > size) continue;
    for (std::int64_t micro_batch : shared_sizes(problem, options, replicas))
      for (std::size_t v : chunk_counts(problem, ranks, size, micro_batch))
        rows.push_back({.stages = v * ranks,
                        .replicas = replicas,
                        .micro_batch = micro_batch,
                        .schedule = v == 1 ? "1f1b" : "interleaved_1f1b",
                        .tensor_parallel = t,
                        .thrift_at_need = true,
                        .sequence_parallel = whole,
                        .context_parallel = c,
                        .expert_parallel = e,
                        .whole_experts = whole});
  }
  const auto cut = [&](const EvenRow& row) { return uniform(row.stages, size); };
  return fastest(problem, options, units, rows, cut, no_even_row(problem, size), stop, kMostEvaluated);
}

}  // namespace penstock::planners
