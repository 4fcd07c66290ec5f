#pragma once
// MPI in C, and its errors.

#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

namespace penstock::replay {

/// Throws Error(device_failed) for what is not MPI_SUCCESS.
void check_mpi(int status);

/// Of transfers' bytes, and of what processes tell each other beside them; made by Processes.
struct Communicators {
  MPI_Comm transfers, notes;
};
const Communicators& communicators();

}  // namespace penstock::replay
