#pragma once
// The processes that execute one plan together.

#include <vector>

#include "penstock/core/ids.hpp"

namespace penstock::replay {

/// Processes that an MPI launcher has started. A process makes one object of this class, once; the thread
/// that makes it is the only one to call MPI meanwhile.
class Processes {
 public:
  /// Throws BadInput where this build has no MPI, or where MPI does not know of as many processes: then the
  /// launcher is another MPI's.
  Processes(int expected, std::size_t devices);
  /// Waits for all, for a minute at most; after a failure for nobody.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Ranks on this machine, this one too, ascending.
  const std::vector<int>& on_this_machine() const { return neighbours_; }

  /// Devices go to processes in blocks, as a cluster counts them node by node and launchers do ranks.
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
