#pragma once
// The verifier: checks a trace against the rules of plan, order and costs.

#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::check {

/// Returns violations as sentences, empty if there is none; `options` are those of the trace's simulation.
/// Shares no code with the simulator: everything is derived again from plan, order and costs. The rules are:
/// - Compute: every device runs exactly the passes and steps of its order, in that order, one at a time.
///   Pairs run without a pause. Each pass takes as long as its operators (if nothing is perturbed). No device
///   passes a barrier before all have reached it.
/// - Messages: every replica gets its samples of every boundary, byte for byte, from the devices that
///   computed them. A message leaves no earlier than it is computed, and no earlier than the receiver has
///   room: one micro-batch more than it may hold, for gradients two. It arrives no later than needed. Nothing
///   else moves.
/// - Links: on fifo no two messages share a link at once. On fair every message ends when max-min fair rates
///   have carried its bytes; rates are recomputed between all starts and ends (not with jitter of transfers
///   or all-reduces).
/// - All-reduces: every bucket of every mini-batch, one after the other, when a replica has its gradients and
///   before its step. In closed form each takes the time of the formula. Message by message they move 2(r -
///   1) times the bytes, and every contribution can have reached every replica. With `automatic` and buckets
///   only the bytes are checked, because the algorithm of each bucket is unknown.
/// - Sums among stages that share parameters: after the all-reduces of the stages' own, by the same rules.
/// - Colocated stages: their parts compute every sample once, and update their weights when all are done.
/// - Memory: activations and buffers at every moment, byte for byte, are those of the passes and messages.
/// - Iteration: it ends with its last task, or is the time that a later mini-batch adds.
/// Not checked: that nothing starts later than it could (the paths of explain() show that).
std::vector<std::string> trace_violations(const cost::Problem& problem,
                                          const schedule::ScheduledPlan& scheduled, const trace::Trace& trace,
                                          const sim::SimulationOptions& options = {});

}  // namespace penstock::check
