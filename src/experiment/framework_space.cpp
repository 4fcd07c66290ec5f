#include "framework_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "penstock/experiment/inputs.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::experiment {

FrameworkSpace::FrameworkSpace(const std::string& framework, const graph::OpGraph& graph,
                               const plan::ModelRef& model)
    : framework_(framework) {
  if (framework.empty()) return;
  const plan::ModelRef named = resolved(model);
  const auto plans =
      std::make_shared<const frameworks::RunnablePlans>(frameworks::framework_named(framework), graph, named);
  runnable_ = [plans, named](const plan::Plan& plan, const plan::Plan* before) {
    plan::Plan of_model = plan;
    of_model.model = named;
    return plans->nearest(of_model, before);
  };
}

void FrameworkSpace::limit(planners::OwnOptions& joint, const plan::Plan* from) const {
  if (framework_.empty()) return;
  const frameworks::Abilities& can = frameworks::framework_named(framework_).can;
  const bool hybrid = from != nullptr && std::ranges::any_of(from->stages, [](const plan::Stage& stage) {
                        return stage.zero_over > 0;
                      });
  const std::pair<const char*, std::string> usual[] = {
      {"units", "layers"},
      {"starts", "direct"},
      {"colocated", "never"},
      {"hybrid_sharding", hybrid && can.hybrid ? "" : "never"},
      {"max_zero", std::to_string(can.zero.back())},
      {"sequence_parallel", can.sequence_parallel || !can.context.empty() ? "try" : "never"},
      {"max_context_parallel", can.context.empty() ? "1" : ""},
      {"max_expert_parallel", can.expert_parallel ? "" : "1"},
      {"max_tensor_parallel", can.tensor_parallel ? "" : "1"}};
  for (const auto& [key, value] : usual)
    if (!value.empty()) joint.try_emplace(key, value);
}

std::function<std::optional<plan::Plan>(const plan::Plan&, const plan::Plan*)> FrameworkSpace::runnable()
    const {
  return runnable_;
}

bool FrameworkSpace::enter(const cost::Problem& problem, plan::Plan& plan) const {
  if (!runnable_) return false;
  const std::string& title = frameworks::framework_named(framework_).title;
  const auto near = runnable_(plan, nullptr);
  if (!near)
    throw core::Infeasible(fmt::format(
        "no plan near it is known that {} can run; planner joint searches among those that it can run, --for any among all plans",
        title));
  plan::Plan entered = *near;
  std::tie(entered.model, entered.cluster) = std::tie(plan.model, plan.cluster);
  try {
    score::derive_in_flight(problem, entered);
  } catch (const core::BadInput& fault) {
    throw core::Infeasible(fault.what());
  }
  if (const auto violations = score::violations(problem, entered); !violations.empty())
    throw core::Infeasible(
        fmt::format("the nearest plan that {} could run is not valid: {}", title, violations.front()));
  const bool changed = entered.stages != plan.stages || entered.schedule != plan.schedule ||
                       entered.training.bucket != plan.training.bucket;
  plan = std::move(entered);
  return changed;
}

}  // namespace penstock::experiment
