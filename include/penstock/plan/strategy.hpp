#pragma once
// A plan in one line: its degrees of parallelism in the field's notation.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Minimum and maximum of a value over stages.
struct ValueRange {
  std::int64_t least = 0, most = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};
std::string text(const ValueRange& extent);  ///< "2", or "1-4"
/// Parses the result of text(); nothing for other texts.
std::optional<ValueRange> parse_extent(std::string_view text);

struct Strategy {
  std::int64_t stages = 0;
  std::int64_t depth = 0;              ///< stages on the longest path
  std::int64_t pipeline_parallel = 0;  ///< device sets; fewer than stages if one set runs several
  ValueRange data_parallel;            ///< replicas per stage
  std::array<ValueRange, kStatedDims.size()> divided;  ///< degrees of the dimensions of kStatedDims
  bool sequence_parallel = false;                      ///< true if any stage has it
  ValueRange expert_parallel;                          ///< devices that divide the experts of a mixture
  bool whole_experts = false;                          ///< true if any stage has it
  ValueRange zero;                                     ///< ZeRO stage
  ValueRange zero_over;          ///< devices per ZeRO sharding group; 0: all with equal weights
  ValueRange micro_batch;        ///< samples per replica, of the fullest replica
  ValueRange k;                  ///< of the kFkB schedule
  std::int64_t recomputing = 0;  ///< stages that recompute
  std::string recomputed;        ///< "layers", "4 layers"; empty: whole stages, or different per stage
  std::string schedule;
};

/// Devices per tensor-parallel group.
ValueRange tensor_parallel(const Strategy& strategy);

/// Name of the schedule in the field's notation: "1F1B"; with runs of k "2F2B"; any other name unchanged.
std::string schedule_words(const Strategy& strategy);

/// Precondition: the plan has stages. `depth` is StageGraph::depth().
Strategy strategy(const Plan& plan, int depth);

/// Returns a text such as "PP4 x DP2 x TP8, 1F1B, mb 32, recompute 3/4". It has the pipeline-, data- and
/// tensor-parallel degrees, which Narayanan et al. (Megatron-LM, SC 2021) write as (p, d, t), without those
/// that are one. Schedule, micro-batch per replica and the number of stages that recompute follow ("recompute
/// layers 4/4" if each layer is recomputed). Differs: a range "DP1-4" if stages differ; the longest path of a
/// stage graph, "PP8 (depth 3)"; and more stages than device sets, "PP4 (8 stages)".
std::string in_words(const Strategy& strategy);

}  // namespace penstock::plan
