#pragma once
// From what an iteration left behind to a trace.

#include "penstock/cost/problem.hpp"
#include "penstock/trace/trace.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// First start to last end; of several mini-batches without a flush what one adds in the second half of the
/// program: by when the first ones have passed all stages, as the simulator counts.
core::Seconds iteration_time(const DevicePrograms& program, const plan::Plan& plan, const Record& record);

/// Time zero is the first start. A sum of gradients shows on each replica from when all are ready for it.
/// Memory points stand at the ends of instructions, and where a device came to its peak at the beginning of
/// that instruction. A trace shows workspace and versions as if they were held throughout, as at the peak;
/// what other points would exceed the peak by is taken off their activations, so that the trace's peak is the
/// measured one.
trace::Trace trace_of(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                      const Record& record, const std::vector<Peak>& peaks);

}  // namespace penstock::replay
