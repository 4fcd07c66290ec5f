#pragma once
// Links between threads of one process.

#include <deque>
#include <thread>

#include "links/flows.hpp"
#include "links/links.hpp"
#include "run/monitor.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// One thread per receiver here copies bytes from senders here. A transfer has arrived when its bytes are
/// copied and, with `throttle`, its flow over the cluster's links (flows.hpp) has ended.
class ThreadLinks : public TransferLinks {
 public:
  /// `here`: true for devices of this process; `name`: text of a transfer, for messages.
  ThreadLinks(Monitor& monitor, const cluster::Cluster& cluster, std::vector<DeviceTransfer> transfers,
              bool throttle, const std::function<bool(core::DeviceId)>& here,
              std::function<std::string(std::size_t)> name);
  ~ThreadLinks() override;
  ThreadLinks(const ThreadLinks&) = delete;
  ThreadLinks& operator=(const ThreadLinks&) = delete;

  void send(std::size_t transfer, Pieces from) override;
  void open(std::size_t transfer, std::function<Pieces()> room) override;
  void wait(std::size_t transfer, const std::function<std::string()>& awaited) override;

  /// For transport between processes. leave: a transfer was sent from here. expect: returns the buffer for an
  /// opened transfer. arrive: its bytes are there.
  void leave(std::size_t transfer);
  Pieces expect(std::size_t transfer);
  void arrive(std::size_t transfer);

  /// Called under the monitor's lock: times of a transfer; reset to the initial state.
  TimeInterval when(std::size_t transfer) const { return state_[transfer].when; }
  void reset();

 private:
  struct TransferState {
    bool sent = false, opened = false, copied = false, flowed = false;
    Pieces from, to;
    std::function<Pieces()> room;
    TimeInterval when;
  };
  void depart(std::size_t transfer);
  void start(std::size_t transfer);
  void arrive_if_done(std::size_t transfer, core::Seconds now);
  Monitor::TickResult tick(core::Seconds now);
  void serve(std::size_t device);
  void carry(std::size_t transfer);

  Monitor& monitor_;
  const std::vector<DeviceTransfer> transfers_;
  const bool throttle_;
  const std::function<std::string(std::size_t)> name_;
  MessageFlows flows_;
  std::vector<TransferState> state_;             ///< [transfer]
  std::vector<std::deque<std::size_t>> queues_;  ///< [receiver] transfers to be copied
  bool closed_ = false;
  std::vector<std::thread> carriers_;
};

}  // namespace penstock::replay
