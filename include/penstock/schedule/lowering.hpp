#pragma once
// Lowering: turns a schedule of computations into one that a runtime executes, with full backwards and
// messages.

#include <cstddef>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Drops idle cells and joins an I directly followed by the W of the same stage and micro-batch into a B.
Schedule merge_backwards(const Schedule& schedule);

/// Adds UNSHARD and RESHARD where stages are sharded over data-parallel replicas: UNSHARDs a stage before a
/// rank's first pass of it and RESHARDs it when it is none of the `window` stages that the rank runs next,
/// counted without doubles; at the end all. Drops idle cells. The rule of torch.distributed.pipelining's
/// _add_unshard_reshard, whose window is 3: one stage forward, one backward, one on its way.
Schedule add_unshards(const Schedule& schedule, std::size_t window = 3);

/// Adds a stage's REDUCE_GRAD right after the W or B that completes its gradients: the last of its
/// micro_batches(schedule). The rule of _add_reduce_grad.
Schedule add_reductions(const Schedule& schedule);

/// Adds a send after every pass whose result another rank needs, and its receive to that rank's order. Ranks
/// take turns, one action per turn, an idle cell being one; a receive is queued the moment its send is. The
/// rule of torch.distributed.pipelining's _add_send_recv, so that both give the same orders; the schedule
/// must be free of violations and without messages.
Schedule add_messages(const Schedule& schedule);

/// How many steps the schedule takes when every action, messages included, takes one and a rank that is
/// unblocked by a later rank within a step still uses it: PyTorch's dry run, _simulate_comms_compute.
int unit_steps(const Schedule& schedule);

}  // namespace penstock::schedule
