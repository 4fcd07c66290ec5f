#pragma once
// Collectives between threads of one machine, as copies and sums.

#include <functional>
#include <memory>
#include <vector>

#include "penstock/calibrate/team.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::calibrate {

/// Opens the device of one rank.
using OpenDevice = std::function<std::unique_ptr<kernels::Backend>()>;

/// A rank's own backend and stream; any thread may make or use it, one at a time.
struct RankBackend {
  std::unique_ptr<kernels::Backend> backend;
  std::unique_ptr<kernels::Stream> stream;
};
std::vector<RankBackend> open_ranks(int ranks, const OpenDevice& open);
std::vector<RankBackend> open_ranks(const std::vector<OpenDevice>& opens);

/// Ring all-reduce (Patarasuk and Yuan, JPDC 2009). In r - 1 steps each rank passes the sum of one r-th to
/// the next, then r - 1 steps pass the finished parts round. Inputs do not change, so that it can be
/// repeated.
class ReductionRing {
 public:
  /// `bytes`: the whole tensor, rounded up to ranks times four. Inputs are random, by rank. Two ranks or
  /// more.
  ReductionRing(ThreadTeam& team, std::vector<RankBackend>& ranks, core::Bytes bytes);
  void all_reduce();
  void reduce_scatter();  ///< afterwards rank r has the sum of part (r + 1) mod ranks
  void all_gather();      ///< of the parts after reduce_scatter

  kernels::Buffer& input(int rank, int part) { return *of(rank).input[static_cast<std::size_t>(part)]; }
  kernels::Buffer& output(int rank, int part) { return *of(rank).output[static_cast<std::size_t>(part)]; }
  core::Bytes bytes() const { return bytes_; }

 private:
  using Buffers = std::vector<std::unique_ptr<kernels::Buffer>>;
  struct RankBuffers {
    Buffers input, output;  ///< per part
    Buffers sums;           ///< two, in turn
  };
  RankBuffers& of(int rank) { return memory_[static_cast<std::size_t>(rank)]; }
  int wrapped(int rank) const { return (rank % team_.ranks() + team_.ranks()) % team_.ranks(); }
  kernels::Buffer& sum(int rank, int step);
  void reduce_step(int rank, int step);
  void all_gather_step(int rank, int step);
  void scatter_phase(int rank);
  void all_gather_phase(int rank);
  void finish(int rank);

  ThreadTeam& team_;
  std::vector<RankBackend>& ranks_;
  core::Bytes bytes_;
  std::vector<RankBuffers> memory_;
};

}  // namespace penstock::calibrate
