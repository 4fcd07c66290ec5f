#pragma once
// MPI in C, and its errors.

#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

namespace penstock::replay {

/// Throws Error(device_failed) unless `status` is MPI_SUCCESS.
void check_mpi(int status);

/// Communicators for transfers' bytes and for notes between processes; created by MpiProcesses.
struct MpiCommunicators {
  MPI_Comm transfers, notes;
};
const MpiCommunicators& communicators();

}  // namespace penstock::replay
