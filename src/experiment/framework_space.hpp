#pragma once
// Private to the room: a search among the plans that a training framework can run.

#include <functional>
#include <optional>
#include <string>

#include "penstock/cost/problem.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::experiment {

/// The plans of one model that a framework can run. A null space (framework "") holds every plan.
class FrameworkSpace {
 public:
  /// `graph` must outlive it. Throws BadInput for an unknown framework, and for a model that is no row of
  /// layers or that the framework cannot train.
  FrameworkSpace(const std::string& framework, const graph::OpGraph& graph, const plan::ModelRef& model);

  /// Sets options of joint that leave out what the framework lacks, unless they are set. `from`: plan that the
  /// search begins at, or null.
  void limit(planners::OwnOptions& joint, const plan::Plan* from) const;
  /// SearchOptions::runnable; empty for the null space.
  std::function<std::optional<plan::Plan>(const plan::Plan&, const plan::Plan*)> runnable() const;
  /// Replaces a plan of another planner than joint by the nearest one in the space, valid and with in-flight
  /// counts. Returns true if the plan changed. Throws Infeasible if there is none.
  bool enter(const cost::Problem& problem, plan::Plan& plan) const;

 private:
  std::string framework_;
  std::function<std::optional<plan::Plan>(const plan::Plan&, const plan::Plan*)> runnable_;
};

}  // namespace penstock::experiment
