#pragma once
// Devices of a tensor-parallel group side by side, on threads of their own and in other processes.

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

/// The process group of a tensor-parallel group, as far as it is in this process. A member that shares waits
/// for the others as the monitor lets it: until one fails, or nothing moves. Members of other processes have
/// such an object there; here their bytes arrive, into memory of their own, which is why nobody waits until
/// those members have used what they were sent.
class ProcessGroup {
 public:
  using Send = std::function<void(std::size_t member, std::uint64_t round, const Peers::Shared& what)>;
  struct Members {
    std::size_t all, here;  ///< how many, and how many are of this process
    Send send{};            ///< to the processes of the others, if any, what one of here shares; keeps a copy
  };
  /// `throttle`: a collective takes no less than the time it is given. `name`: of the group, for messages.
  ProcessGroup(Monitor& monitor, Members members, bool throttle, std::string name);

  Peers& member(std::size_t number) { return *peers_[number]; }
  /// What one of another process shares has come: `what` is of `bytes`.
  void arrive(std::size_t member, std::uint64_t round, Peers::Shared what, Blob bytes);
  /// How long a device has shared since this was last asked, from when the last one came; by its own thread.
  core::Seconds taken(std::size_t member) { return std::exchange(taken_[member], core::Seconds(0)); }

 private:
  class Member;
  /// A collective.
  struct Round {
    std::vector<Peers::Shared> shared;  ///< [member]
    std::vector<Blob> bytes;            ///< of members of other processes
    std::size_t came = 0, used = 0;
    core::Seconds began;  ///< when the last one came
  };
  void share(std::size_t member, const Peers::Shared& own, core::Seconds time,
             const std::function<void(const std::vector<Peers::Shared>&)>& use);
  Round& come(std::size_t member, std::uint64_t round, Peers::Shared what, Blob bytes = {});
  void await(const std::function<bool()>& ready);

  Monitor& monitor_;
  const Members members_;
  const bool throttle_;
  const std::string name_;
  std::vector<std::unique_ptr<Peers>> peers_;  ///< [member]
  std::map<std::uint64_t, Round> rounds_;      ///< the present one, and the next where others are ahead
  std::vector<std::uint64_t> shares_;          ///< [member] how many; of its own thread, as the next
  std::vector<core::Seconds> taken_;           ///< [member]
};

}  // namespace penstock::replay
