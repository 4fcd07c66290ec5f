#pragma once
// The simplest way to run a program: devices, or tensor-parallel groups, take turns; messages are copied.

#include <deque>
#include <functional>

#include "penstock/replay/device_worker.hpp"
#include "reference.hpp"
#include "replay/groups/groups.hpp"
#include "replay/groups/relay.hpp"
#include "replay/worker/division.hpp"

namespace penstock::replay::test {

class RoundRobin {
 public:
  RoundRobin(kernels::Backend& host, const cost::Problem& problem, const plan::Plan& plan,
             const DevicePrograms& program, const TrainingSetup& setup);

  /// All of the program, once. Fails the test where nothing moves.
  void run();

  /// By operator, put together from the parts of a group; of replicas the first one's. The others must be
  /// equal to the bit, as must be copies in other stages and what several devices of a group have.
  Weights weights() const;
  Weights gradients() const { return gradients_; }  ///< as the last update of each stage used them
  DeviceWorker& worker(std::size_t device) { return *workers_[device]; }

 private:
  struct PendingDelivery {
    bool sent = false, arrived = false;
    std::vector<BufferRegion> from, to;
  };
  struct PendingReduction {
    std::vector<std::vector<BufferRegion>> parts;
  };
  using Read = DeviceWorker::Buffers (DeviceWorker::*)(core::OpId);

  bool advance(std::size_t device);
  bool advance_group(const std::vector<core::DeviceId>& group, TaskRelay& relay);
  bool is_ready(std::size_t device);
  void begin(std::size_t device);
  void end(std::size_t device);
  bool ready(std::size_t device, const DeviceInstruction& instruction);
  void finish(const DeviceInstruction& instruction);
  void open(MessageId id);
  void deliver(PendingDelivery& delivery);
  void reduce(const DeviceInstruction& instruction, std::size_t device);
  void reduce_shared(std::size_t which);
  bool reduces(core::StageId stage, std::size_t device) const;
  bool shared_summed(core::StageId stage) const;
  void read(core::StageId stage, Read which, Weights& out) const;
  std::size_t parts(const plan::Stage& stage, core::OpId op) const;
  void compare_replicas(const plan::Stage& stage, core::OpId op) const;
  void compare_copies(const plan::Stage& stage, core::OpId op, core::OpId owner) const;

  kernels::Backend& host_;
  const graph::OpGraph& graph_;
  const plan::Plan& plan_;
  const DevicePrograms& program_;
  const PeerGroups groups_;
  std::vector<std::unique_ptr<TaskRelay>> relays_;  ///< [group]
  std::vector<std::unique_ptr<DeviceWorker>> workers_;
  std::vector<std::unique_ptr<OperatorDivision>> divisions_;  ///< [device]
  std::vector<std::size_t> next_;
  std::vector<int> barriers_;
  std::vector<PendingDelivery> deliveries_;
  std::map<core::StageId, std::map<std::size_t, int>> steps_, handed_in_;
  std::map<core::StageId, std::deque<PendingReduction>> reductions_;
  std::map<core::StageId, int> reduced_;
  std::vector<std::size_t> shared_in_;  ///< [shared parameters] devices that have handed in their part
  Weights gradients_;
};

}  // namespace penstock::replay::test
