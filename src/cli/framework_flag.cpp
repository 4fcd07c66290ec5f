#include "framework_flag.hpp"

#include <memory>
#include <utility>

#include "command.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/frameworks/framework.hpp"

namespace penstock::cli {

void FrameworkFlag::add(CLI::App& command) {
  command
      .add_option(
          "--for", name_,
          "search among the plans that this framework can run: one set of degrees for all stages, whole "
          "layers, its own schedules. penstock export writes the answer as it is")
      ->type_name("FRAMEWORK")
      ->check(one_of(frameworks::framework_names()));
}

void FrameworkFlag::limit(planners::PlannerChoice& planner, bool hybrid) const {
  if (name_.empty()) return;
  if (planner.name != "joint")
    throw core::BadInput("--for needs --planner joint; for a plan of " + planner.name +
                         " use penstock export --nearest");
  const frameworks::Abilities& can = frameworks::framework_named(name_).can;
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
    if (!value.empty()) planner.options.try_emplace(key, value);
}

void FrameworkFlag::limit(planners::SearchOptions& options, const plan::ModelRef& model,
                          const graph::OpGraph& graph) const {
  if (name_.empty()) return;
  options.model = experiment::resolved(model);
  const auto runnable = std::make_shared<const frameworks::RunnablePlans>(frameworks::framework_named(name_),
                                                                          graph, options.model);
  options.runnable = [runnable, named = options.model](const plan::Plan& plan, const plan::Plan* before) {
    plan::Plan of_model = plan;
    of_model.model = named;
    return runnable->nearest(of_model, before);
  };
}

}  // namespace penstock::cli
