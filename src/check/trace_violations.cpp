#include "penstock/check/trace_violations.hpp"

#include <algorithm>

#include "evidence.hpp"
#include "penstock/schedule/plan_order.hpp"

namespace penstock::check {
namespace {

/// Time at which all of the first `count` mini-batches are done.
Picoseconds through(const TraceEvidence& evidence, std::int64_t count) {
  Picoseconds out;
  for (const auto& passes : evidence.ran)
    for (const PassRun& pass : passes) {
      const Span& span = *pass.span;
      if (span.micro_batch < 0) continue;
      const std::int64_t micro_batch = evidence.plan.stages[span.stage.index()].micro_batch;
      if ((span.micro_batch + 1) * micro_batch <= count * evidence.plan.training.mini_batch)
        out = std::max(out, span.end);
    }
  return out;
}

void check_end(TraceEvidence& evidence) {
  Picoseconds last;
  for (const Span& span : evidence.trace.spans) last = std::max(last, span.end);
  const bool one = evidence.trace.mini_batches == 1;
  if (!one) {
    const auto [begin, end] = schedule::steady_part(evidence.plan);
    last = (through(evidence, end) - through(evidence, begin)) / (end - begin);
  }
  if (evidence.trace.iteration != last)
    evidence.violation("the iteration takes {} ps, {} {} ps", evidence.trace.iteration.value(),
                       one ? "its last task ends at" : "a mini-batch of the steady part adds", last.value());
}

}  // namespace

std::vector<std::string> trace_violations(const cost::Problem& problem,
                                          const schedule::ScheduledPlan& scheduled, const trace::Trace& trace,
                                          const sim::SimulationOptions& options) {
  TraceEvidence evidence(problem, scheduled, trace, options);
  if (!evidence.violations.empty()) return evidence.violations;
  check_compute(evidence);
  if (!evidence.violations.empty()) return evidence.violations;  // other checks need the times of passes
  check_messages(evidence);
  if (!evidence.violations.empty()) return evidence.violations;  // other checks need the messages
  check_network(evidence);
  check_reductions(evidence);
  check_shared(evidence);
  check_colocated(evidence);
  check_memory(evidence);
  check_context(evidence);
  check_pass_collectives(evidence);
  check_experts(evidence);
  check_end(evidence);
  return evidence.violations;
}

}  // namespace penstock::check
