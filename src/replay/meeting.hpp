#pragma once
// Devices of a tensor-parallel group side by side, on threads of their own.

#include <memory>
#include <string>
#include <utility>

#include "monitor.hpp"
#include "penstock/replay/peers.hpp"

namespace penstock::replay {

/// Who shares waits for the others as the monitor lets it: until one fails, or nothing moves.
class Meeting {
 public:
  /// `throttle`: a collective takes no less than the time it is given. `name`: of the group, for messages.
  Meeting(Monitor& monitor, std::size_t members, bool throttle, std::string name);
  Peers& member(std::size_t number) { return *members_[number]; }
  /// How long a device has shared since this was last asked, from when the last one came; by its own thread.
  core::Seconds taken(std::size_t member) { return std::exchange(taken_[member], core::Seconds(0)); }

 private:
  class Member;
  void share(std::size_t member, const Peers::Shared& own, core::Seconds time,
             const std::function<void(const std::vector<Peers::Shared>&)>& use);
  void await(const int& reached, int round);

  Monitor& monitor_;
  const bool throttle_;
  const std::string name_;
  std::vector<std::unique_ptr<Peers>> members_;
  std::vector<Peers::Shared> shared_;  ///< [member]
  std::size_t came_ = 0, used_ = 0;    ///< in this round
  int met_ = 0, parted_ = 0;           ///< rounds
  std::vector<core::Seconds> taken_;   ///< [member]
  core::Seconds began_, over_;         ///< when the round may end
};

}  // namespace penstock::replay
