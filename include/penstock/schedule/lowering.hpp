#pragma once
// From a grid of computations to one that a runtime executes: full backwards and messages.

#include "penstock/schedule/grid.hpp"

namespace penstock::schedule {

/// Drops idle cells and joins an I directly followed by the W of the same stage and micro-batch into a B.
Grid merge_backwards(const Grid& grid);

/// Adds a send after every pass whose result another rank needs, and its receive to that rank's row. Ranks
/// take turns, one action per turn, an idle cell being one; a receive is queued the moment its send is. The
/// rule of torch.distributed.pipelining's _add_send_recv, so that both give the same rows; the grid must be
/// free of faults and without messages.
Grid add_messages(const Grid& grid);

/// How many steps the grid takes when every action, messages included, takes one and a rank that is unblocked
/// by a later rank within a step still uses it: PyTorch's dry run, _simulate_comms_compute.
int unit_steps(const Grid& grid);

}  // namespace penstock::schedule
