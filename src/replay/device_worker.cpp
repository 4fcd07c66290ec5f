#include "penstock/replay/device_worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mail.hpp"
#include "penstock/core/error.hpp"
#include "stage_run.hpp"

namespace penstock::replay {
namespace {

using core::OpId;
using core::StageId;
using schedule::Pass;

kernels::UpdateRule::Kind kind_of(plan::Optimizer optimizer) {
  switch (optimizer) {
    case plan::Optimizer::sgd:
      return kernels::UpdateRule::Kind::sgd;
    case plan::Optimizer::momentum:
      return kernels::UpdateRule::Kind::momentum;
    case plan::Optimizer::adam:
      break;
  }
  return kernels::UpdateRule::Kind::adam;
}

TrainingSetup with_optimizer(TrainingSetup setup, plan::Optimizer optimizer) {
  setup.rule.kind = kind_of(optimizer);
  return setup;
}

void check_ties(const Device& device, const plan::Plan& plan) {
  std::map<OpId, std::size_t> stage_of;
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (const OpId id : plan.stages[s].operators) stage_of[id] = s;
  for (const auto& [id, stage] : stage_of)
    for (const kernels::Parameter& parameter : device.wire(id).parameters)
      if (stage_of.at(parameter.owner.op) != stage)
        throw core::BadInput(fmt::format(
            "operator '{}' of stage {} shares parameters with '{}' of stage {}; that is not replayed",
            device.name(id), stage, device.name(parameter.owner.op), stage_of.at(parameter.owner.op)));
}

VersionUse use_of(const std::vector<Instruction>& instructions, StageId stage) {
  VersionUse use;
  for (const Instruction& instruction : instructions) {
    if (instruction.stage != stage) continue;
    if (instruction.weights >= 0) ++use.passes[instruction.weights];
    use.updates += instruction.pass == Pass::step;
  }
  return use;
}

class KernelWorker : public DeviceWorker {
 public:
  KernelWorker(kernels::Backend& backend, const cost::Problem& problem, const plan::Plan& plan,
               core::DeviceId device, const Program& program, const TrainingSetup& setup)
      : program_(program),
        device_(backend, problem.graph, setup, problem.cluster.type(device).memory,
                fmt::format("device {}", device.index())),
        mail_(device_, program.devices[device.index()]) {
    check_ties(device_, plan);
    const auto& instructions = program.devices[device.index()];
    for (std::size_t s = 0; s < plan.stages.size(); ++s)
      if (std::ranges::count(plan.stages[s].devices, device) > 0)
        stages_.try_emplace(StageId(s), device_, plan.stages[s], use_of(instructions, StageId(s)),
                            plan.training.mini_batch, program.mini_batches);
    for (const Instruction& instruction : instructions)
      if (instruction.pass == Pass::forward) stages_.at(instruction.stage).prepare(instruction.samples);
    device_.stream->synchronise();
  }

  void run(const Instruction& instruction) override {
    put(instruction);
    settle();
  }

  void put(const Instruction& instruction) override {
    if (instruction.pass == Pass::step)
      stages_.at(instruction.stage).weights().step();
    else if (instruction.micro_batch >= 0)
      run_pass(stages_.at(instruction.stage), instruction);
  }
  void settle() override {
    device_.stream->synchronise();
    device_.pool->settle();
  }
  kernels::Stream& stream() override { return *device_.stream; }

  std::vector<Region> incoming(const Message& message) override { return mail_.room_for(message); }
  std::vector<Region> outgoing(const Message& message) override { return mail_.fetch(message); }

  std::vector<Region> gradients(StageId stage) override {
    std::vector<Region> out;
    for (const Lease& sum : stages_.at(stage).weights().last_gradients())
      out.push_back({sum, core::Bytes(0), sum->bytes()});
    return out;
  }
  kernels::Backend& backend() override { return device_.backend; }
  std::vector<double> losses() const override { return device_.losses; }
  Memory memory() const override { return device_.pool->memory(); }

  Buffers weights_of(OpId op) override {
    return of(op, [](StageWeights& weights) { return weights.newest(); });
  }
  Buffers gradients_of(OpId op) override {
    return of(op, [](StageWeights& weights) { return weights.last_gradients(); });
  }

 private:
  void run_pass(StageRun& stage, const Instruction& instruction) {
    compute(stage, instruction);
    for (const MessageId id : instruction.sends)
      mail_.post(program_.messages[static_cast<std::size_t>(id)], stage);
    stage.let_go(instruction.micro_batch, instruction.pass);
    stage.weights().used(instruction.weights);
  }

  void compute(StageRun& stage, const Instruction& i) {
    switch (i.pass) {
      case Pass::forward:
        return stage.forward(i.micro_batch, i.samples, mail_.take_tensors(i.stage, i.micro_batch), i.weights);
      case Pass::recompute:
        return stage.recompute(i.micro_batch, i.weights);
      case Pass::backward:
      case Pass::input_gradient:
        return stage.backward(i.micro_batch, mail_.take_gradients(i.stage, i.micro_batch), i.weights,
                              i.pass == Pass::input_gradient);
      case Pass::weight_gradient:
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
        for (const kernels::Parameter& parameter : device_.wire(op).parameters)
          out.push_back(all[stage.weights().place(parameter.owner)]);
        return out;
      }
    throw core::BadInput(fmt::format("no stage of this device has operator '{}'", device_.name(op)));
  }

  const Program& program_;
  Device device_;
  Mail mail_;
  std::map<StageId, StageRun> stages_;
};

}  // namespace

std::unique_ptr<DeviceWorker> make_worker(kernels::Backend& backend, const cost::Problem& problem,
                                          const plan::Plan& plan, core::DeviceId device,
                                          const Program& program, TrainingSetup setup) {
  core::require(device.index() < program.devices.size(), "the program has the device");
  return std::make_unique<KernelWorker>(backend, problem, plan, device, program,
                                        with_optimizer(setup, plan.training.optimizer));
}

}  // namespace penstock::replay
