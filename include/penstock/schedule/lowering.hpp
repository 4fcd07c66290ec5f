#pragma once
// Lowering: turns a schedule of computations into one that a runtime executes, with full backwards and
// messages.

#include <cstddef>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Drops idle cells, and joins an I directly followed by the W of the same stage and micro-batch into a B.
Schedule merge_backwards(const Schedule& schedule);

/// Adds UNSHARD and RESHARD if stages are sharded over data-parallel replicas. UNSHARD comes before a rank's
/// first pass of a stage. RESHARD comes when the stage is not among the next `window` different stages of the
/// rank, and for all stages at the end. Drops idle cells. Follows _add_unshard_reshard of
/// torch.distributed.pipelining, whose window is 3: one stage forward, one backward, one being fetched.
Schedule add_unshards(const Schedule& schedule, std::size_t window = 3);

/// Adds a stage's REDUCE_GRAD right after the W or B that completes its gradients, the last of
/// micro_batches(schedule). Follows _add_reduce_grad of torch.distributed.pipelining.
Schedule add_reductions(const Schedule& schedule);

/// Adds a send after every pass whose result another rank needs, and its receive to that rank's order. Ranks
/// Adds a send after every pass whose result another rank needs, and its receive to that rank's order. Ranks
/// take turns, one action (or idle cell) per turn; a REDUCE_GRAD takes two turns, the second for its wait. A
/// receive is appended at the moment of its send. Follows _add_send_recv of torch.distributed.pipelining, so
/// that both give equal orders. Precondition: the schedule has no violations and no messages.
Schedule add_messages(const Schedule& schedule);

/// Number of steps of the schedule if every action, messages included, takes one. A rank that a later rank
/// unblocks within a step still uses that step, as in PyTorch's dry run, _simulate_comms_compute.
int unit_steps(const Schedule& schedule);

}  // namespace penstock::schedule
