#pragma once
// What people call a plan: its degrees of parallelism in one line, in the field's notation.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// The least and the most of something that stages may differ in.
struct Extent {
  std::int64_t least = 0, most = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};
std::string text(const Extent& extent);  ///< "2", or "1-4"
/// Reads what text() writes; nothing for other texts.
std::optional<Extent> parse_extent(std::string_view text);

struct Strategy {
  std::int64_t stages = 0;
  std::int64_t depth = 0;              ///< stages on the longest path
  std::int64_t pipeline_parallel = 0;  ///< sets of devices; fewer than stages where one set runs several
  Extent data_parallel;                ///< replicas of a stage
  std::array<Extent, kStatedDims.size()> divided;  ///< ways that divide a replica's work, as kStatedDims
  bool sequence_parallel = false;                  ///< of any stage
  Extent expert_parallel;                          ///< replicas that divide a mixture's experts
  Extent zero;                                     ///< ZeRO stage
  Extent zero_over;                                ///< devices that share so; 0: all with equal weights
  Extent micro_batch;            ///< samples that a replica (of unequal ones the fullest) takes at a time
  Extent k;                      ///< of the kFkB schedule
  std::int64_t recomputing = 0;  ///< stages that do
  std::string recomputed;        ///< "layers", "4 layers"; empty: whole stages, or not all alike
  std::string schedule;
};

/// Devices of a tensor-parallel group.
Extent tensor_parallel(const Strategy& strategy);

/// `depth` as StageGraph counts it. The plan has stages.
Strategy strategy(const Plan& plan, int depth);

/// "PP4 x DP2 x TP8, 1F1B, mb 32, recompute 3/4": pipeline-, data- and tensor-parallel degrees as Narayanan
/// et al. (Megatron-LM, SC 2021) write (p, d, t), those of one left out; schedule, micro-batch of a replica,
/// stages that recompute, "recompute layers 4/4" where each layer does on its own. Differs in what stages may
/// differ in, "DP1-4", and in graphs of stages, whose longest path stands behind the degree: "PP8 (depth 3)";
/// stages beyond it too: "PP4 (8 stages)".
std::string in_words(const Strategy& strategy);

}  // namespace penstock::plan
