#pragma once
// In-flight counts by trial, where no closed rule is exact: kFkB with k > 1.

#include <functional>

#include "penstock/core/units.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::schedule {

/// How long one iteration of a plan takes; a simulator is handed in. An invalid-plan error (the order
/// deadlocks) counts as forever.
using IterationTime = std::function<core::Picoseconds(const plan::Plan&)>;

/// Takes the stages from last to first and gives each the smallest multiple of its micro-batch with which the
/// iteration is no slower than at the start. The start: the plan's own counts, or the whole mini-batch where
/// a stage has none; no count grows. Asks for at most one time per stage and micro-batch.
void search_in_flight(plan::Plan& plan, const IterationTime& time);

}  // namespace penstock::schedule
