#include "joint/plan_limits.hpp"

#include <algorithm>

namespace penstock::planners {
namespace {

bool divides_tokens(const plan::Stage& stage) {
  return stage.sequence_parallel || std::ranges::any_of(stage.partition, [](const auto& chosen) {
           return chosen.second == plan::Partition::sequence;
         });
}

}  // namespace

bool PlanLimits::allow(const plan::Plan& plan) const {
  return std::ranges::all_of(plan.stages, [&](const plan::Stage& stage) {
    if (stage.zero > zero || (!sequence_parallel && divides_tokens(stage))) return false;
    if (stage.recompute.of == plan::Recomputation::Of::core && !recompute_cores) return false;
    return recompute || !stage.recompute;
  });
}

std::vector<PlannerOption> limit_options() {
  return {
      tensor_parallel_limit(),
      number("max_zero", 3, 0, 3, "largest ZeRO stage of its plans, such as a framework or a replay runs"),
      words("sequence_parallel", {"try", "never"}, "tensor-parallel groups may divide tokens too"),
      words("recompute", {"all", "layers", "none"},
            "what may be computed again in the backward pass: layers, stages and attention's cores; all "
            "but cores alone; or nothing")};
}

PlanLimits plan_limits(const OwnValues& own) {
  const std::string& again = own.word("recompute");
  return {static_cast<int>(own.number("max_zero")), own.word("sequence_parallel") == "try", again != "none",
          again == "all"};
}

}  // namespace penstock::planners
