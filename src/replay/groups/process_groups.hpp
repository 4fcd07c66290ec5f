#pragma once
// The tensor-parallel groups with devices in this process.

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "groups/groups.hpp"
#include "groups/process_group.hpp"
#include "penstock/replay/processes.hpp"

namespace penstock::replay {

class ProcessGroups {
 public:
  /// Sends a note to each of the processes `to`, which call arrive() with it. `processes`: null for a single
  /// process.
  using Send = std::function<void(const std::vector<int>& to, Blob note)>;
  ProcessGroups(Monitor& monitor, const PeerGroups& groups, const MpiProcesses* processes, bool throttle,
                Send send);

  /// Returns null for a device in no group.
  GroupPeers* peers(core::DeviceId device) const;
  /// Like ProcessGroup's; zero for a device in no group.
  core::Seconds taken(core::DeviceId device);
  /// Handles data shared by a device of another process.
  void arrive(Blob note);

 private:
  struct GroupSeat {
    ProcessGroup* group;
    std::size_t member;
  };
  ProcessGroup::GroupMembers members(std::size_t group) const;
  bool here(core::DeviceId device) const { return processes_ == nullptr || processes_->has(device); }

  const PeerGroups groups_;
  const MpiProcesses* const processes_;
  const Send send_;
  std::vector<std::unique_ptr<ProcessGroup>> list_;  ///< [group]
  std::map<core::DeviceId, GroupSeat> seats_;
};

}  // namespace penstock::replay
