#pragma once
// A plan with what follows from it, worked out once and handed on.

#include <utility>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// The plan must be structurally valid (plan::structural_violations); the order is its own, in whose making
/// costs have a say where score::scheduled makes it, or another one of the same stages. Throws as plan_order.
struct ScheduledPlan {
  ScheduledPlan(const graph::OpGraph& graph, plan::Plan of, Schedule ordered)
      : plan(std::move(of)), stages(graph, plan), order(std::move(ordered)) {}
  ScheduledPlan(const graph::OpGraph& graph, plan::Plan of)
      : plan(std::move(of)), stages(graph, plan), order(plan_order(plan)) {}

  plan::Plan plan;
  plan::StageGraph stages;  ///< how stages feed each other
  Schedule order;           ///< what every rank runs
};

}  // namespace penstock::schedule
