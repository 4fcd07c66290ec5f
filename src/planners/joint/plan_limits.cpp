#include "joint/plan_limits.hpp"

#include <algorithm>

namespace penstock::planners {
namespace {

bool divides_tokens(const plan::Stage& stage) {
  return stage.sequence_parallel || std::ranges::any_of(stage.partition, [](const auto& chosen) {
           return chosen.second == plan::Partition::sequence;
         });
}

constexpr std::int64_t kMostGroups = std::int64_t{1} << 20;

}  // namespace

bool PlanLimits::allow(const plan::Plan& plan) const {
  return std::ranges::all_of(plan.stages, [&](const plan::Stage& stage) {
    if (stage.zero > zero || (!sequence_parallel && divides_tokens(stage))) return false;
    if (stage.context_parallel > context_parallel || stage.expert_parallel > expert_parallel) return false;
    if ((stage.zero_over > 0 && !hybrid_sharding) || (stage.part && !colocated)) return false;
    if (stage.recompute.of == plan::Recomputation::SegmentScope::core && !recompute_cores) return false;
    return recompute || !stage.recompute;
  });
}

std::vector<PlannerOption> limit_options() {
  return {
      tensor_parallel_limit(),
      number("max_zero", 3, 0, 3, "largest ZeRO stage of its plans"),
      words("sequence_parallel", {"try", "never"},
            "try: tensor-parallel groups may also divide tokens (sequence parallelism), and context groups "
            "may divide samples. never: neither"),
      words("recompute", {"all", "layers", "none"},
            "what the backward pass may recompute. all: layers, stages and attention cores. layers: layers "
            "and stages. none: nothing"),
      number("max_context_parallel", kMostGroups, 1, kMostGroups,
             "largest degree of context parallelism, a power of two; 1: none"),
      number("max_expert_parallel", kMostGroups, 1, kMostGroups,
             "largest degree of expert parallelism, a power of two; 1: none"),
      words("hybrid_sharding", {"try", "never"},
            "try ZeRO within groups of the replicas instead of all of them (FSDP's hybrid sharding)"),
      words("colocated", {"try", "never"},
            "try stages for the layers after the join of all branches that share the devices of the "
            "branches. Exports to training frameworks refuse such plans")};
}

PlanLimits plan_limits(const OwnValues& own) {
  const std::string& again = own.word("recompute");
  const bool tokens = own.word("sequence_parallel") == "try";
  return {.zero = static_cast<int>(own.number("max_zero")),
          .sequence_parallel = tokens,
          .recompute = again != "none",
          .recompute_cores = again == "all",
          .context_parallel = tokens ? own.number("max_context_parallel") : 1,
          .expert_parallel = own.number("max_expert_parallel"),
          .hybrid_sharding = own.word("hybrid_sharding") == "try",
          .colocated = own.word("colocated") == "try"};
}

}  // namespace penstock::planners
