#pragma once
// Puts all work of an iteration on streams.

#include <map>

#include "links/reductions.hpp"
#include "links/ring.hpp"
#include "penstock/replay/device_worker.hpp"

namespace penstock::replay {

/// Follows a program in the order of its dependencies, without waiting. `put` may be called repeatedly.
class StreamRecording {
 public:
  StreamRecording(const DevicePrograms& program, const graph::OpGraph& graph, const plan::Plan& plan,
                  const std::vector<DeviceWorker*>& workers);
  /// All work comes after the work already given to `origin`, and before the work given to it next.
  void put(kernels::Stream& origin);

 private:
  using Event = std::shared_ptr<kernels::Event>;
  struct DeviceState {
    std::size_t next = 0;
    std::unique_ptr<kernels::Stream> arrivals;  ///< keeps the order of arriving bytes
    bool at_barrier = false;
  };
  struct MessageState {
    Pieces from;
    Event sent, opened, arrived;
  };
  struct ReductionState {
    std::vector<std::unique_ptr<DeviceAccumulator>> values, rooms;  ///< [replica] created on first use
    std::vector<std::vector<BufferRegion>> regions;  ///< [replica] for replicas that have arrived
    std::size_t come = 0;
    std::vector<Event> done;  ///< [replica]
  };

  const DeviceMessage& message(MessageId id) const { return program_.messages[static_cast<std::size_t>(id)]; }
  MessageState& travel(MessageId id) { return messages_[static_cast<std::size_t>(id)]; }
  DeviceWorker& worker(std::size_t device) const { return *workers_[device]; }
  bool works(std::size_t device) const { return !program_.devices[device].empty(); }
  template <class Use>
  void each_stream(const Use& use);

  void begin(kernels::Stream& origin);
  bool ready(std::size_t device);
  bool passes_barrier(std::size_t device);
  void perform(std::size_t device);
  void send(std::size_t device, MessageId id, const Event& when);
  void open(MessageId id, const Event& when);
  void move(MessageId id);
  void join(std::size_t device, std::size_t reduction, const Event& when);
  void add_up(std::size_t reduction);

  const DevicePrograms& program_;
  const std::vector<DeviceWorker*>& workers_;
  const ReductionList reductions_;
  std::vector<DeviceState> devices_;
  std::vector<MessageState> messages_;
  std::vector<ReductionState> sums_;     ///< [reduction]
  std::size_t waiting_ = 0, alive_ = 0;  ///< devices at the barrier; devices with instructions
};

}  // namespace penstock::replay
