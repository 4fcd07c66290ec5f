#pragma once
// How many samples a stage must hold between forward and backward so that 1F1B never waits.

#include <cstdint>

#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/pass_costs.hpp"

namespace penstock::schedule {

/// A stage's micro-batch size and k; one run of the kFkB schedule moves `run()` samples.
struct Pace {
  std::int64_t micro_batch = 1;
  int k = 1;
  std::int64_t run() const { return micro_batch * k; }
};

/// What one successor y demands of stage x, in samples:
///     run_x <= run_y:  round up to run_x of  i_y + run_y
///     run_x >  run_y:  round up to run_x of  i_y + 2 run_x - run_y
/// A stage without successors holds one run. GraphPipe (ASPLOS 2025, appendix A.1, Table 2) gives the rule as
/// a picture only; this form is reconstructed from its Fig. 5 and the authors' strategy files, and held
/// against brute force in tests/agreement. With k = 1 and equal time per sample in all stages it was
/// sufficient in every case tried, and not one micro-batch too many but in short mini-batches; where times
/// differ, more may be faster. For k > 1, where a run is treated as one large micro-batch, it sufficed on
/// even chains but is not tight: there in_flight_search.hpp decides.
std::int64_t demanded_in_flight(const Pace& x, std::int64_t i_y, const Pace& y);

/// How many samples 1f1b holds.
enum class InFlight : std::uint8_t {
  depth,           ///< what the successors' passes ask for: transfers between stages are waited for
  hide_transfers,  ///< as if each transfer were a stage of its own, at the pace of the stage that sends: of
                   ///< equal micro-batches 2 depth - 1 instead of depth
};
std::int64_t demanded_in_flight(const Pace& x, std::int64_t i_y, const Pace& y, InFlight rule);

/// Sets `in_flight` of every stage that has none: gpipe and a colocated stage hold the mini-batch, one behind
/// the pipeline a micro-batch, 1f1b the rule's count (the largest demand over its successors, never more than
/// the mini-batch), 1f1b without a flush ceil(D / R) micro-batches on each of R replicas, D the devices from
/// this stage on (PipeDream, SOSP 2019, section 3.2), any other family what its schedule holds. Throws as
/// plan_order does.
void derive_in_flight(plan::Plan& plan, const plan::StageGraph& stages, InFlight rule = InFlight::depth);

}  // namespace penstock::schedule
