#pragma once
// The worker that trains: kernels of one backend, memory of one device.

#include "penstock/cost/problem.hpp"
#include "penstock/replay/training.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// A worker that can be inspected, and need not be waited for.
class DeviceWorker : public Worker {
 public:
  using Buffers = std::vector<std::shared_ptr<kernels::Buffer>>;
  /// Newest weights of an operator, and the sums of their gradients as in `gradients`, in the order of its
  /// kernel's parameters; null for frozen ones. For a tied operator, those it shares; for a device of a
  /// tensor-parallel group, its shard. Throws BadInput if no stage of this device has the operator.
  virtual Buffers weights_of(core::OpId op) = 0;
  virtual Buffers gradients_of(core::OpId op) = 0;

  /// `run` in two steps. put: puts all of the instruction on the stream. settle: waits for all work there and
  /// elsewhere. Losses must not be requested.
  virtual void put(const DeviceInstruction& instruction) = 0;
  virtual void settle() = 0;
  virtual kernels::Stream& stream() = 0;
};

/// Creates kernels, weights, inputs and targets, so that instructions only compute. All arguments except the
/// setup are kept by reference. `plan` determines the optimizer, the cluster the memory; exceeding it is
/// Error(device_failed), naming the cause. Inputs are prepared on the device and count while a micro-batch
/// holds them; targets never count; scratch of a kernel counts while the kernel runs. Throws BadInput like
/// the kernels, naming an operator that a tensor-parallel group cannot divide as planned, and if such a group
/// shares parameters with another stage.
std::unique_ptr<DeviceWorker> make_worker(kernels::Backend& backend, const cost::Problem& problem,
                                          const plan::Plan& plan, core::DeviceId device,
                                          const DevicePrograms& program, TrainingSetup setup);

}  // namespace penstock::replay
