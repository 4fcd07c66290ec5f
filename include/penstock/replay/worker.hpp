#pragma once
// Interface between the scheduler of a replay and the devices that execute it.

#include <memory>
#include <vector>

#include "penstock/kernels/backend.hpp"
#include "penstock/plan/memory_kind.hpp"
#include "penstock/replay/peers.hpp"
#include "penstock/replay/program.hpp"

namespace penstock::replay {

/// Part of a buffer; keeps the buffer alive.
struct BufferRegion {
  std::shared_ptr<kernels::Buffer> buffer;
  core::Bytes offset, bytes;
};

/// A device during a replay. Its instructions come one at a time, in order, from one thread; `incoming` may
/// be called from another thread at the same time.
class Worker {
 public:
  virtual ~Worker() = default;

  /// Sets the peers of a device of a tensor-parallel group, before its first instruction. All devices of the
  /// group run the same instructions.
  virtual void join(GroupPeers&) {}

  /// Runs a pass or a step; does nothing for a barrier. For a reduction, runs only the part within the group:
  /// sums over samples that it has divided. The work is done when it returns.
  virtual void run(const DeviceInstruction& instruction) = 0;

  /// Allocates buffers for the message's tensors, in their order. Called once per message with bytes, on
  /// arrival, after the receiver opened it and the sender sent it. Between stages of one device it is called
  /// by the thread of its instructions, right after `outgoing`; identical memory is not copied.
  virtual std::vector<BufferRegion> incoming(const DeviceMessage& message) = 0;
  /// Content of the message's tensors. Called once per message with bytes, after the instruction that sends
  /// it. The values stay valid as long as the regions are held.
  virtual std::vector<BufferRegion> outgoing(const DeviceMessage& message) = 0;

  /// Gradients of the stage's weights, summed over this device's micro-batches of the mini-batch whose last
  /// backward pass has run. Replicas sum these, in the same order on each. Called after the REDUCE_GRAD; the
  /// sum is written there before the STEP, while later passes run.
  virtual std::vector<BufferRegion> gradients(core::StageId stage) = 0;
  /// Gradients of the parameters that the stage shares with others, for its copy of the owner's. `gradients`
  /// excludes them.
  virtual std::vector<BufferRegion> shared_gradients(core::StageId stage,
                                                     const std::vector<core::OpId>& owners) = 0;
  virtual kernels::Backend& backend() = 0;

  /// This device's part of the loss of every mini-batch so far, in the order of running. Empty if the setup
  /// does not request losses.
  virtual std::vector<double> losses() const { return {}; }

  struct WorkerMemory {
    plan::MemoryByKind now{}, at_peak{};  ///< bytes held now; at the maximum of their sum
    plan::MemoryByKind most{};            ///< bytes of each kind at its own maximum
  };
  virtual WorkerMemory memory() const = 0;
};

}  // namespace penstock::replay
