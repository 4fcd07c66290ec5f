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
class FifoNetwork final : public TransferNetwork {
 public:
  FifoNetwork(const TaskGraph& graph, EventAgenda& agenda, TaskRecorder& record);
  void request(TaskId transfer, std::int64_t now) override;
  bool due(TaskId transfer, std::int64_t now) override;
  void settle(std::int64_t) override {}

 private:
  struct WaitingTransfer {
    std::int64_t number;  ///< order in which transfers became ready
    TaskId task;
    bool operator>(const WaitingTransfer& other) const { return number > other.number; }
  };
  struct LinkQueue {
    bool busy = false;
    std::priority_queue<WaitingTransfer, std::vector<WaitingTransfer>, std::greater<>> waiting;
  };
  using Route = std::vector<std::uint32_t>;

  std::int64_t end_of(TaskId transfer, std::int64_t start) const;
  void start_or_wait(WaitingTransfer waiter, std::int64_t now);
  LinkQueue* first_waiting(const Route& route);

  const TaskGraph& graph_;
  EventAgenda& agenda_;
  TaskRecorder& record_;
  std::vector<LinkQueue> links_;
  std::vector<SpeedProfile> speed_;  ///< [path] speed of bytes relative to durations; empty: constant
  std::int64_t next_number_ = 0;
};

}  // namespace penstock::sim
