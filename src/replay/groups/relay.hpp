#pragma once
// Devices of a tensor-parallel group in sequential emulation: a member that reaches a collective passes
// control to the next.

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "penstock/replay/peers.hpp"

namespace penstock::replay {

class TaskRelay {
 public:
  /// `stopwatch` returns the current time.
  TaskRelay(std::size_t members, std::function<core::Seconds()> stopwatch);
  GroupPeers& member(std::size_t number) { return *members_[number]; }

  /// Runs task [member] for each, on threads that take turns. Returns the end of each on a clock that begins
  /// at zero for all, as if they computed in parallel. A collective begins when the last member arrives and
  /// takes the time it is given, whatever it takes here. Rethrows the first failure; the others end at their
  /// next collective. Internal error if one ends while others share.
  std::vector<core::Seconds> run(const std::vector<std::function<void()>>& tasks);
  /// Time of the collectives in the last run, without waiting.
  core::Seconds collectives() const { return collectives_; }

 private:
  class Member;
  struct HaltSignal {};  ///< thrown if another member has failed
  void share(std::size_t member, const GroupPeers::Shared& own, core::Seconds time,
             const std::function<void(const std::vector<GroupPeers::Shared>&)>& use);
  void serve(std::size_t member, const std::function<void()>& task);
  void take_turn(std::size_t member);
  void hand_over(std::size_t member);
  void check(std::size_t member) const;

  const std::function<core::Seconds()> stopwatch_;
  std::vector<std::unique_ptr<GroupPeers>> members_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::size_t turn_ = 0;  ///< member that is running; all members below belong to it
  std::vector<GroupPeers::Shared> shared_;
  std::vector<int> rounds_;           ///< [member] collectives reached
  std::vector<bool> ended_;           ///< [member]
  std::vector<core::Seconds> clock_;  ///< [member]
  core::Seconds collectives_;
  core::Seconds began_;  ///< start of the computation of the member that is running
  std::exception_ptr failure_;
};

}  // namespace penstock::replay
