#pragma once
// Network whose links serve one transfer at a time.

#include <functional>
#include <queue>

#include "network/network.hpp"

namespace penstock::sim {

/// A transfer starts when every link of its route is free, and holds them all until it ends. Among transfers
/// that could take a link, the one that became ready first goes first; a transfer that still waits for
/// another link does not keep it idle. A waiting transfer is stored at one busy link. Its bytes flow at the
/// speed of the narrowest link of its route at each moment; if one is down, they stop and still hold the
/// route.
class FifoNetwork final : public Network {
 public:
  FifoNetwork(const TaskGraph& graph, Agenda& agenda, Record& record);
  void request(TaskId transfer, std::int64_t now) override;
  bool due(TaskId transfer, std::int64_t now) override;
  void settle(std::int64_t) override {}

 private:
  struct Waiter {
    std::int64_t number;  ///< order in which transfers became ready
    TaskId task;
    bool operator>(const Waiter& other) const { return number > other.number; }
  };
  struct Link {
    bool busy = false;
    std::priority_queue<Waiter, std::vector<Waiter>, std::greater<>> waiting;
  };
  using Route = std::vector<std::uint32_t>;

  std::int64_t end_of(TaskId transfer, std::int64_t start) const;
  void start_or_wait(Waiter waiter, std::int64_t now);
  Link* first_waiting(const Route& route);

  const TaskGraph& graph_;
  Agenda& agenda_;
  Record& record_;
  std::vector<Link> links_;
  std::vector<Speed> speed_;  ///< [path] speed of bytes relative to durations; empty: constant
  std::int64_t next_number_ = 0;
};

}  // namespace penstock::sim
