#pragma once
// A plan with data derived from it, computed once and passed on.

#include <utility>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// A plan with its stage graph and order. The plan must be structurally valid (plan::structural_violations).
/// The order is its own (score::scheduled also considers costs), or another order of the same stages. Throws
/// like plan_order.
struct ScheduledPlan {
  ScheduledPlan(const graph::OpGraph& graph, plan::Plan of, Schedule ordered)
      : plan(std::move(of)), stages(graph, plan), order(std::move(ordered)) {}
  ScheduledPlan(const graph::OpGraph& graph, plan::Plan of)
      : plan(std::move(of)), stages(graph, plan), order(plan_order(plan)) {}

  plan::Plan plan;
  plan::StageGraph stages;  ///< data dependencies between stages
  Schedule order;           ///< actions of every rank
};

}  // namespace penstock::schedule
