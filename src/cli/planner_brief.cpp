#include "planner_brief.hpp"

#include <algorithm>
#include <array>

#include "penstock/core/error.hpp"

namespace penstock::cli {
namespace {

struct BriefEntry {
  std::string_view name;
  PlannerBrief brief;
};

// clang-format off
constexpr std::array kBriefs = {
    BriefEntry{"graphpipe", {"stages form a graph", "no TP, ZeRO, recomputation"}},
    BriefEntry{"graphpipe_rows", {"better of graphpipe and spp", "no TP, ZeRO, recomputation"}},
    BriefEntry{"graphpipe_climb", {"graphpipe, improved by steps", "no TP, ZeRO, recomputation"}},
    BriefEntry{"spp", {"stages form a chain", "no TP, ZeRO, recomputation"}},
    BriefEntry{"pipedream", {"chain of stages, no flush", "no TP, ZeRO, recomputation"}},
    BriefEntry{"pipedream_2bw", {"equal stages, no flush", "no TP, ZeRO; equal stages"}},
    BriefEntry{"piper", {"chain of stages with TP", "no ZeRO; ignores the bubble"}},
    BriefEntry{"piper_row", {"piper on operators in one order", "no ZeRO; ignores the bubble"}},
    BriefEntry{"single_device", {"all operators on one device", "no parallelism"}},
    BriefEntry{"data_parallel", {"replicas, ZeRO if needed", "no pipeline, TP"}},
    BriefEntry{"accpar", {"each operator split its own way", "no pipeline, ZeRO"}},
    BriefEntry{"gpipe_equal", {"GPipe, stages of equal time", "no replicas, TP, ZeRO"}},
    BriefEntry{"gpipe_memory", {"GPipe, stages of equal memory", "no replicas, TP, ZeRO"}},
    BriefEntry{"megatron", {"equal stages, TP, interleaving", "stages of equal width only"}},
    BriefEntry{"autopipe", {"moves operators off the path", "no TP, ZeRO; equal stages"}},
    BriefEntry{"aceso", {"improves the worst stage", "no TP, ZeRO"}},
    BriefEntry{"exhaustive", {"every plan of a small problem", "at most 12 operators; no ZeRO"}},
    BriefEntry{"dapple", {"partition by DAPPLE's formula", "no TP, ZeRO, recomputation"}},
    BriefEntry{"alpa_inter", {"submeshes by Alpa's formula", "no TP, ZeRO, recomputation"}},
    BriefEntry{"spp_luo", {"min-cut order, list schedule", "no TP, ZeRO, recomputation"}},
    BriefEntry{"joint", {"improves the best of all others", "no schedules without a flush"}},
    BriefEntry{"given", {"the plan that its options state", "no search"}},
};
// clang-format on

}  // namespace

PlannerBrief planner_brief(std::string_view name) {
  const auto found = std::ranges::find(kBriefs, name, &BriefEntry::name);
  core::require(found != kBriefs.end(), "every planner of the catalogue has a line in planner_brief.cpp");
  return found->brief;
}

}  // namespace penstock::cli
