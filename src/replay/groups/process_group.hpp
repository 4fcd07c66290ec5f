#pragma once
// Devices of a tensor-parallel group in parallel, on separate threads and in other processes.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "groups/shared_note.hpp"
#include "run/monitor.hpp"

namespace penstock::replay {

/// The part of a tensor-parallel group in this process. A member that shares waits for the others through the
/// monitor: until one fails, or nothing moves. Members of other processes have such an object there. Their
/// bytes are copied here on arrival, so no member waits until those have used what they received.
class ProcessGroup {
 public:
  using Send = std::function<void(std::size_t member, std::uint64_t round, const GroupPeers::Shared& what)>;
  struct GroupMembers {
    std::size_t all, here;  ///< how many, and how many are of this process
    /// number of all members; number in this process
    Send send{};
  };
  /// `throttle`: a collective takes at least the time it is given. `name`: of the group, for messages.
  ProcessGroup(Monitor& monitor, GroupMembers members, bool throttle, std::string name);

  GroupPeers& member(std::size_t number) { return *peers_[number]; }
  /// Data shared by a member of another process has arrived: `what` points into `bytes`.
  void arrive(std::size_t member, std::uint64_t round, GroupPeers::Shared what, Blob bytes);
  /// Time that a device has shared since the last call, from the arrival of the last member; called by its
  /// own thread.
  core::Seconds taken(std::size_t member) { return std::exchange(taken_[member], core::Seconds(0)); }

 private:
  class Member;
  /// One collective.
  struct CollectiveRound {
    std::vector<GroupPeers::Shared> shared;  ///< [member]
    std::vector<Blob> bytes;                 ///< of members of other processes
    std::size_t came = 0, used = 0;
    core::Seconds began;  ///< arrival of the last member
  };
  void share(std::size_t member, const GroupPeers::Shared& own, core::Seconds time,
             const std::function<void(const std::vector<GroupPeers::Shared>&)>& use);
  CollectiveRound& come(std::size_t member, std::uint64_t round, GroupPeers::Shared what, Blob bytes = {});
  void await(const std::function<bool()>& ready);

  Monitor& monitor_;
  const GroupMembers members_;
  const bool throttle_;
  const std::string name_;
  std::vector<std::unique_ptr<GroupPeers>> peers_;   ///< [member]
  std::map<std::uint64_t, CollectiveRound> rounds_;  ///< the current one, and the next if others are ahead
  std::vector<std::uint64_t> shares_;  ///< [member] number of shares; used by its own thread, like the next
  std::vector<core::Seconds> taken_;   ///< [member]
};

}  // namespace penstock::replay
