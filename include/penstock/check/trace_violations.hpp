#pragma once
// The verifier: does a trace keep the rules?

#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::check {

/// Violations in words, empty when there is none; `options` are those the trace was simulated with. Shares no
/// code with the simulator: everything is worked out anew from plan, order and costs. Checked are
///  - compute: every device runs exactly the passes and steps of its order, in that order, one at a time,
///  pairs without a
///    pause, each as long as its operators take (where nothing is perturbed); nobody passes a barrier before
///    all have come to it;
///  - messages: every replica gets its samples of every boundary, byte for byte, from whoever has computed
///  them, sent
///    no earlier than computed and than the receiver has room (one micro-batch ahead of what it may hold,
///    gradients two), arrived no later than needed; nothing else moves;
///  - links: on fifo no two messages at once; on fair every message ends when max-min fair rates, recomputed
///  between all
///    starts and ends, have carried its bytes (not with jitter of transfers or all-reduces);
///  - all-reduces: of every bucket and mini-batch, one after the other, when a replica has its gradients,
///  before its step;
///    in closed form as long as that says; message by message 2(r - 1) times the bytes, and every
///    contribution can have reached every replica (with `automatic` and buckets the bytes alone: which way
///    each bucket went is not known);
///  - sums among stages that share parameters: after the all-reduces of the stages' own, by the same rules;
///  - colocated stages: their parts compute every sample once, and update their weights when all are done;
///  - memory: activations and buffers at every moment, byte for byte, are what the passes and messages hold;
///  - the iteration ends with its last task, or is what a later mini-batch adds.
/// Not checked: that nothing starts later than it could (the paths of explain() show that).
std::vector<std::string> trace_violations(const cost::Problem& problem,
                                          const schedule::ScheduledPlan& scheduled, const trace::Trace& trace,
                                          const sim::SimulationOptions& options = {});

}  // namespace penstock::check
