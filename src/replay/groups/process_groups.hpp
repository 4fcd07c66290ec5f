#pragma once
// The tensor-parallel groups with devices of this process.

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
  /// Sends a note to each of the processes `to`, where it is to arrive(). `processes`: null where there is
  /// one.
  using Send = std::function<void(const std::vector<int>& to, Blob note)>;
  ProcessGroups(Monitor& monitor, const Groups& groups, const Processes* processes, bool throttle, Send send);

  /// null: the device works alone.
  Peers* peers(core::DeviceId device) const;
  /// As ProcessGroup's; zero for a device that works alone.
  core::Seconds taken(core::DeviceId device);
  /// What a device of another process shares.
  void arrive(Blob note);

 private:
  struct Seat {
    ProcessGroup* group;
    std::size_t member;
  };
  ProcessGroup::Members members(std::size_t group) const;
  bool here(core::DeviceId device) const { return processes_ == nullptr || processes_->has(device); }

  const Groups groups_;
  const Processes* const processes_;
  const Send send_;
  std::vector<std::unique_ptr<ProcessGroup>> list_;  ///< [group]
  std::map<core::DeviceId, Seat> seats_;
};

}  // namespace penstock::replay
