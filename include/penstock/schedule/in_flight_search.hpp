#pragma once
// In-flight counts by trial, for cases without an exact rule: kFkB with k > 1.

#include <functional>

#include "penstock/core/units.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::schedule {

/// Returns the time of one iteration of a plan, from a simulator. An invalid-plan error (deadlock) counts as
/// infinite.
using IterationTime = std::function<core::Picoseconds(const plan::Plan&)>;

/// From last to first, gives each stage the smallest multiple of its micro-batch with which the iteration is
/// no slower than at the start. The start uses the plan's counts, or the whole mini-batch if a stage has
/// none; no count grows. Calls `time` at most once per stage and micro-batch.
void search_in_flight(plan::Plan& plan, const IterationTime& time);

}  // namespace penstock::schedule
