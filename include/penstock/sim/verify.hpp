#pragma once
// The judge of the simulator: does a trace keep the rules?

#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/grid.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::sim {

/// Faults in words, empty when there is none. Shares no code with the simulator: messages are worked out anew
/// from the samples that each replica takes of each micro-batch. Checked are
///  - compute: every device runs exactly the passes of its order, in that order, one at a time;
///  - messages: every replica gets its samples of every boundary, byte for byte, from whoever has computed
///  them, sent
///    no earlier than computed, arrived no later than needed, no faster than the route allows; nothing else
///    moves;
///  - all-reduce: once per replica, after the last backward pass of all;
///  - memory: never negative, in time order, and at the end what it was in the beginning;
///  - the iteration ends with its last task.
std::vector<std::string> trace_faults(const cost::Problem& problem, const plan::Plan& plan,
                                      const schedule::Grid& order, const trace::Trace& trace);

}  // namespace penstock::sim
