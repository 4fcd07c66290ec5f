#pragma once
// Collectives by NCCL, between threads of one process.

#include <nccl.h>

#include <functional>

#include "penstock/kernels/collectives.hpp"

namespace penstock::kernels::cuda {

/// The library's calls, as a table, so that tests can pass their own.
struct NcclCalls {
  decltype(&ncclCommInitAll) init = &ncclCommInitAll;
  decltype(&ncclCommDestroy) destroy = &ncclCommDestroy;
  decltype(&ncclAllReduce) all_reduce = &ncclAllReduce;
  decltype(&ncclReduceScatter) reduce_scatter = &ncclReduceScatter;
  decltype(&ncclAllGather) all_gather = &ncclAllGather;
  decltype(&ncclGetErrorString) error_string = &ncclGetErrorString;
};

/// `queue` makes the rank's device the one that calls go to, and returns the stream's handle.
using QueueOf = std::function<cudaStream_t(int device, Stream& stream)>;

/// Among devices of different numbers.
std::unique_ptr<Collectives> make_collectives(const std::vector<int>& devices, QueueOf queue,
                                              const NcclCalls& calls = {});

}  // namespace penstock::kernels::cuda
