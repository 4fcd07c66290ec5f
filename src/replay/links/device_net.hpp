#pragma once
// What joins devices of several processes that are not on the host.

#include "links/channels.hpp"
#include "links/process_links.hpp"
#include "links/reductions.hpp"
#include "penstock/replay/worker.hpp"
#include "run/monitor.hpp"

namespace penstock::replay {

/// Made by all processes together; empty where devices are on the host. Sums whose replicas live in several
/// processes have a library among these, and devices that send each other messages a channel.
class DeviceNet {
 public:
  using Devices = std::vector<core::DeviceId>;

  /// BadInput where some devices are on the host and others not, where processes of one machine are on the
  /// same device, or where devices cannot reach each other.
  DeviceNet(const Processes& processes, Monitor& monitor, ProcessLinks& links,
            const std::vector<Worker*>& workers, const std::vector<Message>& messages,
            const Reductions& reductions);

  /// [devices] of the sums that this process has a part in.
  const std::map<Devices, std::shared_ptr<kernels::Collectives>>& sums() const { return sums_; }
  Channels& channels() { return channels_; }
  /// Ends what its devices wait for. From any thread.
  void abort();

 private:
  struct Group {
    Devices devices;
    bool sum;  ///< else a channel from the first to the second
  };
  bool on_host(ProcessLinks& links) const;
  std::vector<Group> groups(const std::vector<Message>& messages, const Reductions& reductions) const;
  std::vector<kernels::Invitation> invitations(ProcessLinks& links, const std::vector<Group>& groups) const;
  void join(Monitor& monitor, const Group& group, const kernels::Invitation& invitation);
  kernels::Backend& backend(core::DeviceId device) const { return workers_[device.index()]->backend(); }
  bool here(core::DeviceId device) const { return processes_.has(device); }

  const Processes& processes_;
  const std::vector<Worker*>& workers_;
  std::map<Devices, std::shared_ptr<kernels::Collectives>> sums_;
  Channels channels_;
};

}  // namespace penstock::replay
