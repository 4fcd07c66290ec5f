#pragma once
// The framework whose plans a search keeps to where the user names none.

#include <string>

#include "penstock/experiment/assumptions.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::experiment {

/// Limit of a search by default.
struct SearchLimit {
  std::string framework{};    ///< framework that must run the plans; "": any plan
  std::string reason{};       ///< why the usual framework cannot train the model; "": it can
  bool whole_layers = false;  ///< without a framework: `joint` keeps to plans of whole layers
};

/// For a language model with a released name, a config or a plan file. Megatron-LM, if it can train the model.
SearchLimit usual_limit(const plan::ModelRef& model, const graph::OpGraph& graph);

/// For a search near a plan. The framework that runs the plan's cluster, if it can run the plan; else "".
std::string framework_near(const plan::Plan& plan, const cost::Problem& problem);

/// The limit among an answer's assumptions; `assumed`: the user did not name the framework.
ProblemAssumption limit_assumption(const std::string& framework, bool assumed);
/// Assumption of a search that keeps to whole layers without a framework.
ProblemAssumption whole_layers_assumption();

/// Makes `joint` keep to plans of whole layers, unless it has these options already.
void keep_layers_whole(planners::PlannerChoice& planner);

}  // namespace penstock::experiment
