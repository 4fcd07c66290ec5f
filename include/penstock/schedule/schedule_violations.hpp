#pragma once
// Whether a schedule can be run, and means one iteration of training.

#include <string>
#include <vector>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// What is wrong, each violation naming rank and cell (both from 0); empty when nothing is. Asked of a
/// schedule:
///  - every stage is run by one rank, and no stage is left out;
///  - every stage runs each of `micro_batches` micro-batches once: F, then B, or I and later W;
///  - R, EVICT and LOAD stand between F and B or I. An EVICT has a LOAD after it, on a rank that has a
///  partner, and not for a micro-batch that is recomputed;
///  - a stage's STEP comes once, after its last W or B and after its REDUCE_GRAD. All ranks have equally many
///  BARRIERs;
///  - a receive has its send, a send its receive; where a rank receives at all, it does so before the pass;
///  - no circle of ranks waits for each other; else the circle is told.
/// The counting rules are those of torch.distributed.pipelining's _validate_schedule; messages, doubles,
/// our own passes and deadlocks are ours.
std::vector<std::string> schedule_violations(const Schedule& schedule, int micro_batches);

}  // namespace penstock::schedule
