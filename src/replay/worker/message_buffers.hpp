#pragma once
// Buffers of messages: received and not yet used by the stages of a device, or made by them for others.

#include <mutex>

#include "penstock/replay/program.hpp"
#include "worker/stage_run.hpp"

namespace penstock::replay {

/// Messages of one micro-batch between the same stages (for a colocated one, all parts) fill parts of the
/// same buffers. Between groups of devices each carries one part of the bytes. Receiving is safe at the same
/// time as all other calls.
class MessageBuffers {
 public:
  MessageBuffers(Device& device, const DevicePrograms& program, core::DeviceId id);

  std::vector<Region> room_for(const Message& message);
  /// Fetches the parts of received messages that others of the group have received, in `time`.
  void complete(const Instruction& instruction, core::Seconds time);
  StageRun::Tensors take_tensors(core::StageId stage, std::int32_t micro_batch);
  StageRun::Received take_gradients(core::StageId stage, std::int32_t micro_batch);

  void offer(const Message& message, const StageRun& stage);
  std::vector<Region> fetch(const Message& message);

 private:
  using MicroBatch = std::pair<core::StageId, std::int32_t>;
  using Transfer =
      std::tuple<MicroBatch, bool, core::StageId>;  ///< {receiver, whether gradients, Message::source}
  using Offered = std::tuple<core::StageId, core::StageId, bool, std::int64_t, std::int32_t>;

  StageRun::Tensors& arrival(const Message& message);
  std::vector<Region> whole(const Message& message, StageRun::Tensors& tensors) const;
  Region part(const Lease& lease, Samples all, Samples some) const;
  template <class Use>
  void take(MicroBatch of, bool gradients, const Use& use);

  Device& device_;
  const DevicePrograms& program_;
  std::map<MicroBatch, Samples> shares_;
  std::mutex mutex_;
  std::map<Transfer, StageRun::Tensors> arrivals_;
  std::map<Offered, std::vector<Region>> offered_;
};

}  // namespace penstock::replay
