#pragma once
// The order of a plan's passes, for schedules that depend on costs.

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"

namespace penstock::score {

/// Like schedule::plan_order, and in addition:
///  list_order: schedule::list_order on the stages and links of the plan, as slow as their slowest replica,
///              with room for the in-flight counts (SPP, Luo et al., INFOCOM 2022); stages of one
///              micro-batch size, one per device.
/// Zero-bubble heuristics use the mean times of the stages. Throws BadInput naming what the schedule does not
/// support.
schedule::Schedule order_of(const cost::Problem& problem, const plan::Plan& plan);

/// Returns the plan with its stage graph and order, for simulation, replay and drawing. The plan must be
/// structurally valid.
schedule::ScheduledPlan scheduled(const cost::Problem& problem, plan::Plan plan);

/// Sets in-flight counts like schedule::derive_in_flight; list_order gets the counts of its order without
/// limits.
void derive_in_flight(const cost::Problem& problem, plan::Plan& plan);

}  // namespace penstock::score
