#pragma once
// Connections between devices of several processes that are not on the host.

#include "links/channels.hpp"
#include "links/process_links.hpp"
#include "links/reductions.hpp"
#include "penstock/replay/worker.hpp"
#include "run/monitor.hpp"

namespace penstock::replay {

/// Created by all processes together; empty if devices are on the host. Gradient sums whose replicas are in
/// several processes have a library here, and devices that send each other messages have a channel.
class DeviceNet {
 public:
  using Devices = std::vector<core::DeviceId>;

  /// Throws BadInput if only some devices are on the host, if processes of one machine use the same device,
  /// or if devices cannot reach each other.
  DeviceNet(const MpiProcesses& processes, Monitor& monitor, ProcessLinks& links,
            const std::vector<Worker*>& workers, const std::vector<DeviceMessage>& messages,
            const ReductionList& reductions);

  /// [devices] libraries of the sums in which this process takes part.
  const std::map<Devices, std::shared_ptr<kernels::Collectives>>& sums() const { return sums_; }
  DeviceChannels& channels() { return channels_; }
  /// Ends the waits of its devices. Thread-safe.
  void abort();

 private:
  struct LibraryGroup {
    Devices devices;
    bool sum;  ///< else a channel from the first to the second
  };
  bool on_host(ProcessLinks& links) const;
  std::vector<LibraryGroup> groups(const std::vector<DeviceMessage>& messages,
                                   const ReductionList& reductions) const;
  std::vector<kernels::Invitation> invitations(ProcessLinks& links,
                                               const std::vector<LibraryGroup>& groups) const;
  void join(Monitor& monitor, const LibraryGroup& group, const kernels::Invitation& invitation);
  kernels::Backend& backend(core::DeviceId device) const { return workers_[device.index()]->backend(); }
  bool here(core::DeviceId device) const { return processes_.has(device); }

  const MpiProcesses& processes_;
  const std::vector<Worker*>& workers_;
  std::map<Devices, std::shared_ptr<kernels::Collectives>> sums_;
  DeviceChannels channels_;
};

}  // namespace penstock::replay
