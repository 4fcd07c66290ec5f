#pragma once
// The order of a plan's passes, where what they cost has a say in it.

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"

namespace penstock::score {

/// As schedule::plan_order, and
///  list_order: schedule::list_order on the stages and links of the plan, as slow as their slowest replica,
///  with room for the
///              in-flight counts (SPP, Luo et al., INFOCOM 2022); stages of one micro-batch size, one per
///              device.
/// Zero-bubble heuristics are told the mean times of the stages. Throws BadInput naming what the schedule
/// cannot do.
schedule::Schedule order_of(const cost::Problem& problem, const plan::Plan& plan);

/// The plan with its stage graph and order, for all who simulate, replay or draw it. The plan must be
/// structurally valid.
schedule::ScheduledPlan scheduled(const cost::Problem& problem, plan::Plan plan);

/// Sets in-flight counts as schedule::derive_in_flight; list_order gets what its order without limits holds.
void derive_in_flight(const cost::Problem& problem, plan::Plan& plan);

}  // namespace penstock::score
