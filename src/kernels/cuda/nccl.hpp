#pragma once
// Collectives by NCCL, between threads of one process or of several.

#include <nccl.h>

#include <functional>
#include <optional>

#include "penstock/kernels/collectives.hpp"

namespace penstock::kernels::cuda {

/// The library's calls, as a table, so that tests can pass their own.
struct NcclCalls {
  decltype(&ncclCommInitAll) init_all = &ncclCommInitAll;
  decltype(&ncclGetUniqueId) unique_id = &ncclGetUniqueId;
  decltype(&ncclCommInitRankConfig) init_rank = &ncclCommInitRankConfig;
  decltype(&ncclCommDestroy) destroy = &ncclCommDestroy;
  decltype(&ncclCommAbort) abort = &ncclCommAbort;
  decltype(&ncclCommGetAsyncError) state = &ncclCommGetAsyncError;
  decltype(&ncclGroupStart) group_start = &ncclGroupStart;
  decltype(&ncclGroupEnd) group_end = &ncclGroupEnd;
  decltype(&ncclAllReduce) all_reduce = &ncclAllReduce;
  decltype(&ncclReduceScatter) reduce_scatter = &ncclReduceScatter;
  decltype(&ncclAllGather) all_gather = &ncclAllGather;
  decltype(&ncclSend) send = &ncclSend;
  decltype(&ncclRecv) receive = &ncclRecv;
  decltype(&ncclGetErrorString) error_string = &ncclGetErrorString;
};

/// Makes a device the current one of this thread.
using Select = std::function<void(int device)>;
/// Makes the rank's device current, and returns the stream's handle.
using QueueOf = std::function<cudaStream_t(int device, Stream& stream)>;

/// Among devices with different numbers; none for ranks of other processes. Connects to these by an
/// invitation without blocking (NCCL's non-blocking communicators), so that a wait for a dead process can be
/// aborted.
std::unique_ptr<Collectives> make_collectives(const std::vector<std::optional<int>>& devices,
                                              const Invitation& invitation, Select select, QueueOf queue,
                                              const NcclCalls& calls = {});
Invitation make_invitation(const NcclCalls& calls = {});

}  // namespace penstock::kernels::cuda
