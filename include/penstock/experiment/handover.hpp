#pragma once
// Transfer of a plan to a framework that may not be able to run it.

#include <optional>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/frameworks/framework.hpp"

namespace penstock::experiment {

/// Result for one framework: what it can run of a plan.
struct RunnablePlan {
  std::vector<std::string> refused;  ///< reasons why it cannot run the plan itself; empty: it can
  std::optional<plan::Plan> plan;    ///< the plan itself, or the nearest valid plan that it can run
  /// Comparison of the nearest plan in simulation, or the reason why there is none; empty if the plan itself
  /// can run.
  std::string nearest;
};

/// The plan must be valid; `file` names it in messages. `with_order`: a file with the order of passes is also
/// transferred.
RunnablePlan runnable(const frameworks::Framework& framework, const cost::Problem& problem,
                      const plan::Plan& plan, const std::string& file, bool with_order);

/// The first few reasons and the nearest plan, a line each, each after a line break.
std::string reasons(const RunnablePlan& able);

/// Throws an invalid-plan error with the reasons and, at the end, `hint`.
[[noreturn]] void refuse(const frameworks::Framework& framework, const RunnablePlan& able,
                         const std::string& file, const std::string& hint = "");

}  // namespace penstock::experiment
