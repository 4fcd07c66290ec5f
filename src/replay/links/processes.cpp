#include "penstock/replay/processes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string>

#include "links/mpi.hpp"
#include "penstock/core/error.hpp"

namespace penstock::replay {
namespace {

constexpr unsigned kLastWait = 60;  // s, for processes that do not end

MpiCommunicators made;  // global, as MPI is

MPI_Comm duplicate() {
  MPI_Comm out;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &out));
  check_mpi(MPI_Comm_set_errhandler(out, MPI_ERRORS_RETURN));
  return out;
}

std::vector<int> ranks_on_this_machine(int rank) {
  MPI_Comm machine;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine));
  int size = 0;
  check_mpi(MPI_Comm_size(machine, &size));
  std::vector<int> out(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(&rank, 1, MPI_INT, out.data(), 1, MPI_INT, machine));
  check_mpi(MPI_Comm_free(&machine));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

void check_mpi(int status) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw core::Error(core::ExitCode::device_failed,
                    "MPI: " + std::string(text, static_cast<std::size_t>(length)));
}

const MpiCommunicators& communicators() {
  return made;
}

MpiProcesses::MpiProcesses(int expected, std::size_t devices) : devices_(devices) {
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  if (provided < MPI_THREAD_SERIALIZED) throw core::BadInput("MPI lacks MPI_THREAD_SERIALIZED");
  if (size_ != expected)
    throw core::BadInput(
        fmt::format("{} processes were started, but this build's MPI knows of {}: start them with "
                    "the mpirun of that MPI",
                    expected, size_));
  neighbours_ = ranks_on_this_machine(rank_);
  made = {duplicate(), duplicate()};
}

MpiProcesses::~MpiProcesses() {
  if (std::uncaught_exceptions() > 0) return;
  alarm(kLastWait);
  MPI_Finalize();
  alarm(0);
}

}  // namespace penstock::replay
