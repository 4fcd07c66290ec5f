#pragma once
// Number of samples that a stage must hold between forward and backward so that 1F1B never waits.

#include <cstdint>

#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/pass_costs.hpp"

namespace penstock::schedule {

/// A stage's micro-batch size and k; one run of the kFkB schedule moves `run()` samples.
struct StagePace {
  std::int64_t micro_batch = 1;
  int k = 1;
  std::int64_t run() const { return micro_batch * k; }
};

/// Samples that stage x must hold because of one successor y:
///     run_x <= run_y:  round up to run_x of  i_y + run_y
///     run_x >  run_y:  round up to run_x of  i_y + 2 run_x - run_y
/// A stage without successors holds one run. GraphPipe (ASPLOS 2025, appendix A.1, Table 2) gives the rule
/// only as a picture. This form is reconstructed from its Fig. 5 and the authors' strategy files, and
/// compared with brute force in tests/agreement. With k = 1 and equal time per sample in all stages it was
/// sufficient in every case tried. It was also minimal, except in short mini-batches; if times differ, a
/// larger count may be faster. For k > 1, where a run counts as one large micro-batch, it was sufficient on
/// even chains but is not tight; there in_flight_search.hpp decides.
std::int64_t demanded_in_flight(const StagePace& x, std::int64_t i_y, const StagePace& y);

/// Rule for the number of samples that 1f1b holds.
enum class InFlight : std::uint8_t {
  depth,  ///< demand of the successors' passes; transfers between stages cause waiting
  /// Each transfer counts as a stage, at the pace of the sending stage: 2 depth - 1 equal micro-batches
  /// instead of depth.
  hide_transfers,
};
std::int64_t demanded_in_flight(const StagePace& x, std::int64_t i_y, const StagePace& y, InFlight rule);

/// Sets `in_flight` of every stage that has none. gpipe and colocated stages hold the mini-batch; stages
/// behind the pipeline hold one micro-batch. 1f1b holds the largest demand of its successors, at most the
/// mini-batch. 1f1b without a flush holds ceil(D / R) micro-batches on each of R replicas, with D devices
/// from this stage on (PipeDream, SOSP 2019, section 3.2). Any other family holds what its schedule needs.
/// Throws like plan_order.
void derive_in_flight(plan::Plan& plan, const plan::StageGraph& stages, InFlight rule = InFlight::depth);

}  // namespace penstock::schedule
