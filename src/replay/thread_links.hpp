#pragma once
// Links between threads of one process.

#include <deque>
#include <thread>

#include "flows.hpp"
#include "links.hpp"
#include "monitor.hpp"
#include "record.hpp"

namespace penstock::replay {

/// A thread per receiver here copies bytes that come from here; a parcel has arrived when they are copied
/// and, where `throttle`, its flow over the cluster's links (flows.hpp) has ended.
class ThreadLinks : public Links {
 public:
  /// `here`: devices of this process; `name`: of a parcel, for messages.
  ThreadLinks(Monitor& monitor, const cluster::Cluster& cluster, std::vector<Parcel> parcels, bool throttle,
              const std::function<bool(core::DeviceId)>& here, std::function<std::string(std::size_t)> name);
  ~ThreadLinks() override;
  ThreadLinks(const ThreadLinks&) = delete;
  ThreadLinks& operator=(const ThreadLinks&) = delete;

  void send(std::size_t parcel, Pieces from) override;
  void open(std::size_t parcel, std::function<Pieces()> room) override;
  void wait(std::size_t parcel, const std::function<std::string()>& awaited) override;

  /// For whoever carries parcels between processes. Of one that leaves; of one that comes, and has been
  /// opened: room for it, and that its bytes are there.
  void leave(std::size_t parcel);
  Pieces expect(std::size_t parcel);
  void arrive(std::size_t parcel);

  /// Under the monitor's lock: when parcels travelled; and as if none ever had.
  Interval when(std::size_t parcel) const { return state_[parcel].when; }
  void reset();

 private:
  struct State {
    bool sent = false, opened = false, copied = false, flowed = false;
    Pieces from, to;
    std::function<Pieces()> room;
    Interval when;
  };
  void depart(std::size_t parcel);
  void start(std::size_t parcel);
  void arrive_if_done(std::size_t parcel, core::Seconds now);
  Monitor::Tick tick(core::Seconds now);
  void serve(std::size_t device);
  void carry(std::size_t parcel);

  Monitor& monitor_;
  const std::vector<Parcel> parcels_;
  const bool throttle_;
  const std::function<std::string(std::size_t)> name_;
  Flows flows_;
  std::vector<State> state_;                     ///< [parcel]
  std::vector<std::deque<std::size_t>> queues_;  ///< [receiver] to be copied
  bool closed_ = false;
  std::vector<std::thread> carriers_;
};

}  // namespace penstock::replay
