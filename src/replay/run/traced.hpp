#pragma once
// Converts the record of an iteration to a trace.

#include "penstock/cost/problem.hpp"
#include "penstock/trace/trace.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// First start to last end. For several mini-batches without a flush, the time per mini-batch in the second
/// half of the program. It follows from the times at which mini-batches have passed all stages, as in the
/// simulator.
core::Seconds iteration_time(const DevicePrograms& program, const plan::Plan& plan,
                             const IterationRecord& record);

/// Time zero is the first start. A gradient sum appears on each replica from the time at which all are ready
/// for it. Memory points are at the ends of instructions; a device's peak is at the beginning of its
/// instruction. A trace shows workspace and versions as constant, at their values in the peak. Where other
/// points would then exceed the peak, their activations are reduced, so that the trace's peak is the measured
/// one.
trace::Trace trace_of(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                      const IterationRecord& record, const std::vector<DevicePeak>& peaks);

}  // namespace penstock::replay
