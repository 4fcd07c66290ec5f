#pragma once
// A device that computes nothing, but checks what it should have been sent.

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

#include "penstock/core/error.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay::test {

/// Tensors of message m hold the number m. Gradients of stage s on device d: 1 / (s + d + i + 1). A forward
/// pass holds 100 bytes until its backward pass ends, and 7 bytes of workspace while it runs.
class FakeWorker : public Worker {
 public:
  FakeWorker(const DevicePrograms& program, const graph::OpGraph& graph, std::size_t device,
             std::size_t gradients)
      : program_(program), graph_(graph), device_(device), gradients_(gradients) {}

  std::function<void(const DeviceInstruction&)> work = [](const DeviceInstruction&) {};
  std::int64_t workspace = 7, first_workspace = 0;      ///< of a forward; of micro-batch 0 in addition
  int wrong = 0;                                        ///< messages that were not what they should be
  std::map<core::StageId, std::vector<double>> summed;  ///< what the last step found
  int steps = 0;
  GroupPeers* peers = nullptr;  ///< those of its group, if any

  void join(GroupPeers& group) override { peers = &group; }
  void run(const DeviceInstruction& instruction) override {
    using schedule::ActionKind;
    for (const MessageId id : instruction.receives)
      if (program_.messages[static_cast<std::size_t>(id)].bytes.value() > 0) wrong += !take(id);
    work(instruction);
    const bool begins = instruction.kind == ActionKind::forward;
    const bool ends =
        instruction.kind == ActionKind::backward || instruction.kind == ActionKind::weight_gradient;
    at(memory_.now, plan::MemoryKind::activations) += core::Bytes(100 * (begins - ends));
    auto most = memory_.now;
    at(most, plan::MemoryKind::workspace) +=
        core::Bytes(begins ? workspace + (instruction.micro_batch == 0 ? first_workspace : 0) : 0);
    if (plan::total(most) > plan::total(memory_.at_peak)) memory_.at_peak = most;
    if (instruction.kind != ActionKind::step) return;
    ++steps;
    for (const BufferRegion& region : grads_[instruction.stage])
      summed[instruction.stage] = kernels::read_values(*backend_, *region.buffer);
  }

  std::vector<BufferRegion> incoming(const DeviceMessage& message) override {
    auto regions = tensors(message, -1);
    const std::lock_guard lock(mutex_);
    core::require(arrived_.emplace(id_of(message), regions).second, "a message is opened once");
    return regions;
  }
  std::vector<BufferRegion> outgoing(const DeviceMessage& message) override {
    return tensors(message, static_cast<double>(id_of(message)));
  }
  std::vector<BufferRegion> gradients(core::StageId stage) override {
    std::vector<double> values(gradients_);
    for (std::size_t i = 0; i < gradients_; ++i)
      values[i] = 1.0 / static_cast<double>(stage.index() + device_ + i + 1);
    std::shared_ptr<kernels::Buffer> buffer =
        backend_->allocate(kernels::Element::fp32, static_cast<std::int64_t>(gradients_));
    kernels::write_values(*backend_, *buffer, values);
    return grads_[stage] = {{buffer, core::Bytes(0), buffer->bytes()}};
  }
  std::vector<BufferRegion> shared_gradients(core::StageId stage, const std::vector<core::OpId>&) override {
    return gradients(stage);
  }
  kernels::Backend& backend() override { return *backend_; }
  WorkerMemory memory() const override { return memory_; }

 private:
  MessageId id_of(const DeviceMessage& message) const {
    return static_cast<MessageId>(&message - program_.messages.data());
  }

  /// The second half of a buffer for each tensor.
  std::vector<BufferRegion> tensors(const DeviceMessage& message, double value) {
    std::vector<BufferRegion> out;
    for (const core::OpId op : message.tensors) {
      const core::Bytes bytes = graph_.op(op).output_bytes * message.samples.count;
      std::shared_ptr<kernels::Buffer> buffer = backend_->allocate(kernels::Element::fp32, bytes.value() / 2);
      const auto count = static_cast<std::size_t>(buffer->count());
      kernels::write_values(*backend_, *buffer, std::vector<double>(count, value));
      out.push_back({buffer, bytes, bytes});
    }
    return out;
  }

  bool take(MessageId id) {
    const std::lock_guard lock(mutex_);
    const auto found = arrived_.extract(id);
    if (found.empty()) return false;
    bool right = true;
    for (const BufferRegion& region : found.mapped()) {
      const auto values = kernels::read_values(*backend_, *region.buffer);
      for (std::size_t i = values.size() / 2; i < values.size(); ++i) right = right && values[i] == id;
    }
    return right;
  }

  const DevicePrograms& program_;
  const graph::OpGraph& graph_;
  const std::size_t device_, gradients_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::open_device("host", 1);
  std::mutex mutex_;
  std::map<MessageId, std::vector<BufferRegion>> arrived_;
  std::map<core::StageId, std::vector<BufferRegion>> grads_;
  WorkerMemory memory_;
};

/// One per device.
struct FakeWorkers {
  FakeWorkers(const DevicePrograms& program, const graph::OpGraph& graph, std::size_t gradients = 10) {
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      list.push_back(std::make_unique<FakeWorker>(program, graph, d, gradients));
      workers.push_back(list.back().get());
    }
  }
  int wrong() const {
    int out = 0;
    for (const auto& fake : list) out += fake->wrong;
    return out;
  }
  std::vector<std::unique_ptr<FakeWorker>> list;
  std::vector<Worker*> workers;
};

}  // namespace penstock::replay::test
