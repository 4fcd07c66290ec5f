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

class Relay {
 public:
  /// `stopwatch` says what time it is.
  Relay(std::size_t members, std::function<core::Seconds()> stopwatch);
  Peers& member(std::size_t number) { return *members_[number]; }

  /// Runs task [member] for each, on threads that take turns. When each ends on a clock that begins at zero
  /// for all, as if they computed side by side: a collective begins when the last one comes and takes the
  /// time it is given, whatever it takes here. Rethrows the first failure; the others end at their next
  /// collective. Internal error where one ends while others share.
  std::vector<core::Seconds> run(const std::vector<std::function<void()>>& tasks);
  /// What the collectives of the last run take, waiting left out.
  core::Seconds collectives() const { return collectives_; }

 private:
  class Member;
  struct Halted {};  ///< thrown where another one has failed
  void share(std::size_t member, const Peers::Shared& own, core::Seconds time,
             const std::function<void(const std::vector<Peers::Shared>&)>& use);
  void serve(std::size_t member, const std::function<void()>& task);
  void take_turn(std::size_t member);
  void hand_over(std::size_t member);
  void check(std::size_t member) const;

  const std::function<core::Seconds()> stopwatch_;
  std::vector<std::unique_ptr<Peers>> members_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::size_t turn_ = 0;  ///< who runs; all below are that one's
  std::vector<Peers::Shared> shared_;
  std::vector<int> rounds_;           ///< [member] collectives it came to
  std::vector<bool> ended_;           ///< [member]
  std::vector<core::Seconds> clock_;  ///< [member]
  core::Seconds collectives_;
  core::Seconds began_;  ///< when whose turn it is began to compute
  std::exception_ptr failure_;
};

}  // namespace penstock::replay
