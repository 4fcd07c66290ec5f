#pragma once
// The worker that really trains: kernels of one backend, memory of one device.

#include "penstock/cost/problem.hpp"
#include "penstock/replay/training.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// A worker that may be looked into, and need not be waited for.
class DeviceWorker : public Worker {
 public:
  using Buffers = std::vector<std::shared_ptr<kernels::Buffer>>;
  /// The newest weights of an operator, and the sums of their gradients as `gradients` has them, in the order
  /// of its kernel's parameters, null of frozen ones; of a tied operator those it shares; of a device of a
  /// tensor-parallel group its part. Throws BadInput when no stage of this device has the operator.
  virtual Buffers weights_of(core::OpId op) = 0;
  virtual Buffers gradients_of(core::OpId op) = 0;

  /// `run` in two: all of the instruction is on the stream; all work there, and elsewhere that the stream
  /// does not know of, is done. Losses are not to be asked for.
  virtual void put(const Instruction& instruction) = 0;
  virtual void settle() = 0;
  virtual kernels::Stream& stream() = 0;
};

/// Kernels, weights, inputs and targets are made now, so that instructions compute and nothing else. All
/// arguments but the setup are referred to. `plan` says what the optimizer is, the cluster how much memory
/// there is; more than that is Error(device_failed), saying what asked for it. Inputs lie ready on the device
/// and count while a micro-batch holds them, targets never; scratch of a kernel counts while the kernel runs.
/// Throws BadInput as the kernels do, naming an operator that a tensor-parallel group cannot divide as the
/// plan says, and where such a group shares parameters with another stage.
std::unique_ptr<DeviceWorker> make_worker(kernels::Backend& backend, const cost::Problem& problem,
                                          const plan::Plan& plan, core::DeviceId device,
                                          const DevicePrograms& program, TrainingSetup setup);

}  // namespace penstock::replay
