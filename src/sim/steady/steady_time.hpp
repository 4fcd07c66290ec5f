#pragma once
// Makespan of a long iteration from a shorter one whose state repeats.

#include <optional>

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// Returns the iteration time if the order and then the run of 1/`share` of it repeat; nullopt otherwise.
/// Equal to the full run to the picosecond:
///  1. The order of every rank is a beginning, equal periods and an end; all of it is compared. Lowering and
///     costs depend on neighbouring micro-batches, never on their number. So the tasks of the full plan are
///     those of the shorter plan with more periods in between. A buffer that the shorter plan is too short to
///     use again delays nothing: what frees it lies further back than all tasks under way.
///  2. The shorter plan's tasks in between equal those one period later: work, waits, and the order in which
///     they release others. This is compared. Ids grow with the period, so ties break equally.
///  3. A state is all that the rest of a run depends on: tasks ended and waits left, events, flows with their
///     bytes and rates, queues, and slow-downs. Times are integers relative to the clock. Doubles are compared
///     bit by bit; they advance by differences of times, never by the clock, so equal states continue equally.
///  4. A state comes again j periods and t ps later, before any task of the end was released. The full run
///     then comes to it every t ps while periods are left, and ends as the shorter run does: each j periods
///     that the shorter plan lacks take t ps.
/// Event-graph recurrences with rational times become periodic (Baccelli et al., Synchronization and
/// Linearity, 1992, section 3.7), so most plans do; but the transient may be too long for the share.
/// Perturbations and sequence lengths, messages in order, and schedules without a flush never qualify.
/// Differs: a plan with more tasks, or a longer sum of them, than a full run can hold has a result.
std::optional<core::Picoseconds> steady_time(const cost::Problem& problem,
                                             const schedule::ScheduledPlan& scheduled,
                                             const SimulationOptions& options, std::int64_t share = 128);

}  // namespace penstock::sim
