#pragma once
// A device whose time comes from a script: tests of measuring never wait.

#include <deque>
#include <functional>

#include "penstock/calibrate/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/backend.hpp"

namespace scripted {

using namespace penstock;

/// Clock that events read, and the durations that move it.
struct DeviceScript {
  double now = 0;
  double eviction = 0.01;  ///< s
  bool cold = false;       ///< nothing has run since caches were evicted
  int runs = 0, evictions = 0;
  std::vector<int> bundles;  ///< numbers of copies
  std::function<double(const DeviceScript&)> duration = [](const DeviceScript&) { return 1e-3; };

  void run() {
    now += duration(*this);
    ++runs;
    cold = false;
  }
};

struct Event : kernels::Event {
  explicit Event(double at) : time(at) {}
  core::Seconds since(const kernels::Event& earlier) const override {
    return core::Seconds(time - dynamic_cast<const Event&>(earlier).time);
  }
  bool reached() const override { return true; }
  double time;
};

struct Stream : kernels::Stream {
  explicit Stream(DeviceScript& s) : script(s) {}
  std::unique_ptr<kernels::Event> record_event() override { return std::make_unique<Event>(script.now); }
  void wait(const kernels::Event&) override {}
  void synchronise() override {}
  void evict_caches() override {
    script.now += script.eviction;
    script.cold = true;
    ++script.evictions;
  }
  std::function<void()> bundle(int copies, const std::function<void()>& body) override {
    script.bundles.push_back(copies);
    return [copies, body] {
      for (int i = 0; i < copies; ++i) body();
    };
  }
  DeviceScript& script;
};

/// Shares of the full clock, one per question, the last for ever.
struct Clock : calibrate::DeviceClock {
  explicit Clock(std::deque<double> s = {}) : shares(std::move(s)) {}
  std::optional<double> share() override {
    if (shares.empty()) return std::nullopt;
    const double share = shares.front();
    if (shares.size() > 1) shares.pop_front();
    return share;
  }
  std::string method() const override { return "script"; }
  std::deque<double> shares;
};

struct Buffer : kernels::Buffer {
  Buffer(kernels::Element element, std::int64_t count)
      : kernels::Buffer(element, count), bytes_(static_cast<std::size_t>(bytes().value())) {}
  void* data() const override { return bytes_.data(); }
  mutable std::vector<std::byte> bytes_;
};

/// Passes of a linear layer; records the passes that were run.
struct Kernel : kernels::Kernel {
  Kernel(DeviceScript& s, std::int64_t samples, std::int64_t in = 2, std::int64_t out = 3) : script(s) {
    operands.inputs = {{"x", {samples, in}}};
    operands.parameters = {{"weights", {out, in}}};
    operands.output = {"y", {samples, out}};
  }
  const kernels::KernelSlots& slots() const override { return operands; }
  bool has(graph::Pass) const override { return true; }
  void run(graph::Pass pass, const kernels::Operands&, kernels::Stream&) override {
    passes.push_back(pass);
    script.run();
  }
  std::string algorithm(graph::Pass pass) const override { return "best " + std::string(name(pass)); }
  core::Bytes workspace(graph::Pass) const override { return core::Bytes(64); }
  DeviceScript& script;
  kernels::KernelSlots operands;
  std::vector<graph::Pass> passes;
};

struct Update : kernels::OptimizerStep {
  explicit Update(DeviceScript& s) : script(s) {}
  const std::vector<kernels::Slot>& state() const override { return none; }
  void run(kernels::Buffer&, const kernels::Buffer&, const kernels::Buffer&,
           std::span<kernels::Buffer* const>, std::int64_t, kernels::Stream&) override {
    script.run();
  }
  DeviceScript& script;
  std::vector<kernels::Slot> none;
};

struct Backend : kernels::Backend {
  explicit Backend(DeviceScript& s) : script(s) {}
  std::string name() const override { return "script"; }
  std::vector<std::pair<std::string, std::string>> identity() const override {
    return {{"device", "script"}};
  }
  bool supports(kernels::Precision) const override { return true; }
  std::unique_ptr<kernels::Buffer> allocate(kernels::Element element, std::int64_t count) override {
    return std::make_unique<Buffer>(element, count);
  }
  std::unique_ptr<kernels::Stream> make_stream() override { return std::make_unique<Stream>(script); }
  void write(kernels::Buffer& to, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(to.data()));
  }
  void read(const kernels::Buffer& from, std::span<std::byte> bytes) override {
    std::copy_n(static_cast<const std::byte*>(from.data()), bytes.size(), bytes.begin());
  }
  void copy(kernels::Buffer&, const kernels::Buffer&, kernels::Stream&) override { script.run(); }
  void zero(kernels::Buffer&, kernels::Stream&) override {}
  void add(kernels::Buffer&, const kernels::Buffer&, kernels::Stream&) override { script.run(); }
  std::unique_ptr<kernels::Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                               kernels::Precision) override {
    if (op.kind == graph::OpKind::softmax) throw core::BadInput("no softmax here");
    if (op.kind != graph::OpKind::linear) return std::make_unique<Kernel>(script, samples);
    const auto& layer = as<graph::Linear>(op);
    return std::make_unique<Kernel>(script, samples, layer.in, layer.out);
  }
  std::unique_ptr<kernels::OptimizerStep> make_update(const kernels::UpdateRule&, std::int64_t,
                                                      kernels::Precision) override {
    return std::make_unique<Update>(script);
  }
  DeviceScript& script;
};

}  // namespace scripted
