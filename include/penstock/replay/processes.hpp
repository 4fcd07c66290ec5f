#pragma once
// Processes that execute one plan together.

#include <vector>

#include "penstock/core/ids.hpp"

namespace penstock::replay {

/// Processes that an MPI launcher has started. A process creates one object of this class, once; only the
/// thread that creates it may call MPI during its lifetime.
class MpiProcesses {
 public:
  /// Throws BadInput if this build has no MPI, or if MPI reports another number of processes: then the
  /// launcher belongs to another MPI.
  MpiProcesses(int expected, std::size_t devices);
  /// Waits for all processes, for a minute at most; does not wait after a failure.
  ~MpiProcesses();
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Ranks on this machine, including this one, ascending.
  const std::vector<int>& on_this_machine() const { return neighbours_; }

  /// Assigns devices to processes in blocks, because clusters number them node by node and launchers do so
  /// with ranks.
  void deal(std::size_t devices) { devices_ = devices; }
  /// Process that hosts a device's worker.
  int host(core::DeviceId device) const {
    return static_cast<int>(device.index() * static_cast<std::size_t>(size_) / devices_);
  }
  bool has(core::DeviceId device) const { return host(device) == rank_; }

 private:
  int rank_ = 0, size_ = 1;
  std::size_t devices_ = 1;
  std::vector<int> neighbours_;
};

}  // namespace penstock::replay
