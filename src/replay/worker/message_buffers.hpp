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
  MessageBuffers(DeviceContext& device, const DevicePrograms& program, core::DeviceId id);

  std::vector<BufferRegion> room_for(const DeviceMessage& message);
  /// Fetches the parts of received messages that others of the group have received, in `time`.
  void complete(const DeviceInstruction& instruction, core::Seconds time);
  StageRun::Tensors take_tensors(core::StageId stage, std::int32_t micro_batch);
  StageRun::Received take_gradients(core::StageId stage, std::int32_t micro_batch);

  void offer(const DeviceMessage& message, const StageRun& stage);
  std::vector<BufferRegion> fetch(const DeviceMessage& message);

 private:
  using MicroBatch = std::pair<core::StageId, std::int32_t>;
  using Transfer =
      std::tuple<MicroBatch, bool, core::StageId>;  ///< {receiver, whether gradients, DeviceMessage::source}
  using Offered = std::tuple<core::StageId, core::StageId, bool, std::int64_t, std::int32_t>;

  StageRun::Tensors& arrival(const DeviceMessage& message);
  std::vector<BufferRegion> whole(const DeviceMessage& message, StageRun::Tensors& tensors) const;
  BufferRegion part(const Lease& lease, SampleRange all, SampleRange some) const;
  template <class Use>
  void take(MicroBatch of, bool gradients, const Use& use);

  DeviceContext& device_;
  const DevicePrograms& program_;
  std::map<MicroBatch, SampleRange> shares_;
  std::mutex mutex_;
  std::map<Transfer, StageRun::Tensors> arrivals_;
  std::map<Offered, std::vector<BufferRegion>> offered_;
};

}  // namespace penstock::replay
