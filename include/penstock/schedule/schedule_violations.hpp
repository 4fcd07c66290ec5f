#pragma once
// Checks that a schedule can run and is one iteration of training.

#include <string>
#include <vector>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Violations in words, each naming rank and cell (both from 0); empty if there are none. Conditions:
///  - every stage is run by one rank, and no stage is left out;
///  - every stage runs each of `micro_batches` micro-batches once: F, then B, or I and later W;
///  - R, EVICT and LOAD are between F and B or I. An EVICT has a LOAD after it, on a rank that has a
///    partner, and not for a micro-batch that is recomputed;
///  - a stage's STEP comes once, after its last W or B and after its REDUCE_GRAD. All ranks have equally many
///    BARRIERs;
///  - a receive has its send, a send its receive; if a rank receives at all, it does so before the pass;
///  - no circle of ranks waits for each other; otherwise the circle is reported.
/// The counting rules are those of _validate_schedule in torch.distributed.pipelining. Checks of messages,
/// duplicates, added passes and deadlocks are ours.
std::vector<std::string> schedule_violations(const Schedule& schedule, int micro_batches);

}  // namespace penstock::schedule
