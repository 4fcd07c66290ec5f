#pragma once
// Which of several processes this one is.

#include <string>

namespace penstock::cli {

/// As its launcher says in the environment: Open MPI's mpirun, MPICH's (PMI), PMIx, Slurm's srun. 0 when none
/// does. Throws BadInput when what is said is no number.
int process_rank();
/// How many these are; 1 when no launcher says.
int process_count();
/// A name that the processes of one launch share and no other launch has; empty when no launcher gives one.
std::string process_job();

}  // namespace penstock::cli
