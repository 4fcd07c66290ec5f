#pragma once
// Which of several processes this one is.

namespace penstock::cli {

/// As its launcher says in the environment: Open MPI's mpirun, MPICH's (PMI), PMIx, Slurm's srun. 0 when none
/// does. Throws BadInput when what is said is no number.
int process_rank();
/// How many these are; 1 when no launcher says.
int process_count();

}  // namespace penstock::cli
