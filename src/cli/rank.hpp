#pragma once
// Rank of this process among several.

#include <string>

namespace penstock::cli {

/// Rank that its launcher sets in the environment: Open MPI's mpirun, MPICH's (PMI), PMIx, Slurm's srun. 0
/// when none does. Throws BadInput when the value is no number.
int process_rank();
/// Number of these processes; 1 when no launcher sets it.
int process_count();
/// A name that the processes of one launch share and no other launch has; empty when no launcher gives one.
std::string process_job();

}  // namespace penstock::cli
