#pragma once
// A plan on its way to a framework that may not be able to run it.

#include <optional>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/frameworks/framework.hpp"

namespace penstock::experiment {

/// What a framework can run of a plan.
struct Runnable {
  std::vector<std::string> refused;  ///< why it cannot run the plan itself; empty: it can
  std::optional<plan::Plan> plan;    ///< the plan itself, or the nearest one that it can run and is valid
  std::string nearest;  ///< how that one compares in simulation, or why there is none, in words; of a plan
                        ///< that can be run nothing
};

/// The plan must be valid; `file` names it in messages. `with_order`: the order of its passes goes along in a
/// file.
Runnable runnable(const frameworks::Framework& framework, const cost::Problem& problem,
                  const plan::Plan& plan, const std::string& file, bool with_order);

/// The first few reasons and the nearest plan, a line each, each after a line break.
std::string reasons(const Runnable& able);

/// Throws an invalid-plan error that gives the reasons; `hint` stands at its end.
[[noreturn]] void refuse(const frameworks::Framework& framework, const Runnable& able,
                         const std::string& file, const std::string& hint = "");

}  // namespace penstock::experiment
