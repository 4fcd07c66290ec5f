#include "penstock/replay/device_worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "worker/message_buffers.hpp"
#include "worker/stage_run.hpp"

namespace penstock::replay {
namespace {

using core::OpId;
using core::StageId;
using schedule::ActionKind;

kernels::UpdateRule::RuleKind kind_of(plan::Optimizer optimizer) {
  switch (optimizer) {
    case plan::Optimizer::sgd:
      return kernels::UpdateRule::RuleKind::sgd;
    case plan::Optimizer::momentum:
      return kernels::UpdateRule::RuleKind::momentum;
    case plan::Optimizer::adam:
      break;
    case plan::Optimizer::lion:
    case plan::Optimizer::muon:
    case plan::Optimizer::adam8bit:
      throw core::BadInput(fmt::format("a replay has no kernel for the optimizer {}: sgd, momentum or adam",
                                       plan::name(optimizer)));
  }
  return kernels::UpdateRule::RuleKind::adam;
}

TrainingSetup with_optimizer(TrainingSetup setup, plan::Optimizer optimizer) {
  setup.rule.kind = kind_of(optimizer);
  return setup;
}

VersionUse use_of(const std::vector<DeviceInstruction>& instructions, StageId stage) {
  VersionUse use;
  for (const DeviceInstruction& instruction : instructions) {
    if (instruction.stage != stage) continue;
    if (instruction.weights >= 0) ++use.passes[instruction.weights];
    use.updates += instruction.kind == ActionKind::step;
  }
  return use;
}

class KernelWorker : public DeviceWorker {
 public:
  KernelWorker(kernels::Backend& backend, const cost::Problem& problem, const plan::Plan& plan,
               core::DeviceId device, const DevicePrograms& program, const TrainingSetup& setup)
      : program_(program),
        device_(backend, problem, plan, device, setup),
        messages_(device_, program, device) {
    const auto& instructions = program.devices[device.index()];
    for (std::size_t s = 0; s < plan.stages.size(); ++s)
      if (std::ranges::count(plan.stages[s].devices, device) > 0)
        stages_.try_emplace(StageId(s), device_, plan.stages[s], use_of(instructions, StageId(s)),
                            plan.training.mini_batch, program.mini_batches);
    note_sums(problem, plan);
    for (const DeviceInstruction& instruction : instructions)
      if (instruction.kind == ActionKind::forward) stages_.at(instruction.stage).prepare(instruction.samples);
    device_.stream->synchronise();
  }

  void join(GroupPeers& peers) override { device_.join(peers); }

  void run(const DeviceInstruction& instruction) override {
    put(instruction);
    settle();
  }

  void put(const DeviceInstruction& instruction) override {
    if (instruction.kind == ActionKind::step)
      stages_.at(instruction.stage).weights().step();
    else if (instruction.kind == ActionKind::reduce_gradient)
      sum_among_peers(instruction);
    else if (instruction.micro_batch >= 0)
      run_pass(stages_.at(instruction.stage), instruction);
  }
  void settle() override {
    device_.stream->synchronise();
    device_.pool->settle();
  }
  kernels::Stream& stream() override { return *device_.stream; }

  std::vector<BufferRegion> incoming(const DeviceMessage& message) override {
    return messages_.room_for(message);
  }
  std::vector<BufferRegion> outgoing(const DeviceMessage& message) override {
    return messages_.fetch(message);
  }

  std::vector<BufferRegion> gradients(StageId stage) override {
    return gradients(stage, [&](OpId owner) {
      return !device_.dispatches(owner) && std::ranges::none_of(program_.shared, [&](const auto& shared) {
        return std::ranges::binary_search(shared.owners, owner);
      });
    });
  }
  std::vector<BufferRegion> shared_gradients(StageId stage, const std::vector<OpId>& owners) override {
    return gradients(stage, [&](OpId owner) { return std::ranges::binary_search(owners, owner); });
  }
  kernels::Backend& backend() override { return device_.backend; }
  std::vector<double> losses() const override { return device_.losses; }
  WorkerMemory memory() const override { return device_.pool->memory(); }

  Buffers weights_of(OpId op) override {
    return of(op, [](StageWeights& weights) { return weights.newest(); });
  }
  Buffers gradients_of(OpId op) override {
    return of(op, [](StageWeights& weights) { return weights.last_gradients(); });
  }

 private:
  /// Gradients of parameters whose owner is `wanted`.
  template <class Wanted>
  std::vector<BufferRegion> gradients(StageId stage, const Wanted& wanted) {
    StageWeights& weights = stages_.at(stage).weights();
    const std::vector<Lease> sums = weights.last_gradients();
    std::vector<BufferRegion> out;
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (sums[i] != nullptr && wanted(weights.owner(i)))
        out.push_back({sums[i], core::Bytes(0), sums[i]->bytes()});
    return out;
  }

  void sum_among_peers(const DeviceInstruction& instruction) {
    StageRun& stage = stages_.at(instruction.stage);
    if (device_.grouped()) stage.sum_over_samples(sums_.at(instruction.stage));
    if (instruction.shared < 0) stage.sum_over_holders(sums_of_experts_.at(instruction.stage));
  }

  /// Time of the sum over a group without replicas; with replicas it is part of their sum.
  void note_sums(const cost::Problem& problem, const plan::Plan& plan) {
    for (const auto& [id, stage] : stages_) {
      sums_[id] = core::Seconds(0);
      const plan::Stage& planned = plan.stages[id.index()];
      if (planned.weight_replicas() == 1)
        for (const cost::GradientReduction& sum : cost::reductions(problem, planned, planned.operators))
          sums_[id] += cost::time(problem, sum);
      sums_of_experts_[id] = core::Seconds(0);
      for (const cost::GradientReduction& sum :
           cost::reductions(problem, planned, dispatched(problem.graph, planned)))
        sums_of_experts_[id] += cost::time(problem, sum);
    }
  }

  void run_pass(StageRun& stage, const DeviceInstruction& instruction) {
    compute(stage, instruction);
    for (const MessageId id : instruction.sends)
      messages_.offer(program_.messages[static_cast<std::size_t>(id)], stage);
    stage.let_go(instruction.micro_batch, instruction.kind);
    stage.weights().used(instruction.weights);
  }

  void compute(StageRun& stage, const DeviceInstruction& i) {
    if (device_.grouped() && i.kind == ActionKind::forward)
      messages_.complete(i, stage.input_time(i.samples.count));
    // Complete received gradients; recomputation may have waited for them.
    if (device_.grouped() && i.kind != ActionKind::forward)
      messages_.complete(i, stage.gradient_time(i.samples.count));
    switch (i.kind) {
      case ActionKind::forward:
        return stage.forward(i.micro_batch, i.samples, messages_.take_tensors(i.stage, i.micro_batch),
                             i.weights);
      case ActionKind::recompute:
        return stage.recompute(i.micro_batch, i.weights);
      case ActionKind::backward:
      case ActionKind::input_gradient:
        return stage.backward(i.micro_batch, messages_.take_gradients(i.stage, i.micro_batch), i.weights,
                              i.kind == ActionKind::input_gradient);
      case ActionKind::weight_gradient:
        return stage.weight_gradients(i.micro_batch, i.weights);
      default:
        core::require(false, "a program has no other passes");
    }
  }

  template <class Which>
  Buffers of(OpId op, const Which& which) {
    for (auto& [id, stage] : stages_)
      if (stage.has(op)) {
        const std::vector<Lease> all = which(stage.weights());
        Buffers out;
        for (const kernels::ParameterSlot& parameter : device_.shard(op).parameters)
          out.push_back(all[stage.weights().place(parameter.owner)]);
        return out;
      }
    throw core::BadInput(fmt::format("no stage of this device has operator '{}'", device_.name(op)));
  }

  const DevicePrograms& program_;
  DeviceContext device_;
  MessageBuffers messages_;
  std::map<StageId, StageRun> stages_;
  std::map<StageId, core::Seconds> sums_, sums_of_experts_;
};

}  // namespace

std::unique_ptr<DeviceWorker> make_worker(kernels::Backend& backend, const cost::Problem& problem,
                                          const plan::Plan& plan, core::DeviceId device,
                                          const DevicePrograms& program, TrainingSetup setup) {
  core::require(device.index() < program.devices.size(), "the program has the device");
  return std::make_unique<KernelWorker>(backend, problem, plan, device, program,
                                        with_optimizer(setup, plan.training.optimizer));
}

}  // namespace penstock::replay
