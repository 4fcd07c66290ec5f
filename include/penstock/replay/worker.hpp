#pragma once
// The seam between the scheduler of a replay and the devices that execute it.

#include <memory>
#include <vector>

#include "penstock/kernels/backend.hpp"
#include "penstock/plan/memory_kind.hpp"
#include "penstock/replay/peers.hpp"
#include "penstock/replay/program.hpp"

namespace penstock::replay {

/// Part of a buffer. Whoever holds it keeps the buffer alive.
struct Region {
  std::shared_ptr<kernels::Buffer> buffer;
  core::Bytes offset, bytes;
};

/// One device at work. Its instructions come one at a time, in order, from one thread; `incoming` may be
/// asked from another one meanwhile.
class Worker {
 public:
  virtual ~Worker() = default;

  /// Sets the peers of a device of a tensor-parallel group, before its first instruction. All devices of the
  /// group run the same instructions.
  virtual void join(Peers&) {}

  /// Does a pass, a step, or nothing of a barrier or reduction (of a reduction what concerns the group alone:
  /// sums over samples that it has divided). Work is done when it returns.
  virtual void run(const Instruction& instruction) = 0;

  /// Buffers for the message's tensors, in their order: makes room. Once per message with bytes, when they
  /// come: after it has been opened by the receiver and sent by the sender. Between stages of one device by
  /// the thread of its instructions, right after `outgoing`; the same memory is not copied.
  virtual std::vector<Region> incoming(const Message& message) = 0;
  /// What the message's tensors hold; once per message with bytes, after the instruction that sends it. They
  /// keep their values as long as the regions are held.
  virtual std::vector<Region> outgoing(const Message& message) = 0;

  /// Gradients of the stage's weights, summed over this device's micro-batches of the mini-batch whose last
  /// backward pass has run: what replicas sum up, in the same order on each. Asked after the REDUCE_GRAD; the
  /// sum is written there before the STEP, beside later passes.
  virtual std::vector<Region> gradients(core::StageId stage) = 0;
  /// Gradients of the parameters that the stage shares with others: of its copy of the owner's. `gradients`
  /// is without them.
  virtual std::vector<Region> shared_gradients(core::StageId stage,
                                               const std::vector<core::OpId>& owners) = 0;
  virtual kernels::Backend& backend() = 0;

  /// This device's part of the loss of every mini-batch so far, in the order they were run. None where the
  /// setup asks for no losses.
  virtual std::vector<double> losses() const { return {}; }

  struct Memory {
    plan::MemoryByKind now{}, at_peak{};  ///< bytes the device holds; at the moment of its largest sum
  };
  virtual Memory memory() const = 0;
};

}  // namespace penstock::replay
