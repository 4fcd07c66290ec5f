#pragma once
// A device that does nothing until somebody waits for it, and then in any order that its streams and events
// allow: what is not ordered by them shows.

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/kernels/devices.hpp"
#include "replay/links/copier.hpp"

namespace penstock::replay::test {

/// All streams of all lazy devices.
class LazyDevices {
 public:
  explicit LazyDevices(std::uint64_t seed) : random_(seed) {}
  LazyDevices(const LazyDevices&) = delete;
  LazyDevices& operator=(const LazyDevices&) = delete;
  /// Lines wait for each other, and so hold each other.
  ~LazyDevices() {
    for (const auto& line : lines_) line->tasks.clear();
  }

  struct TaskLine;
  struct LinePosition {
    std::shared_ptr<TaskLine> line;
    std::size_t position = 0;  ///< tasks before it
  };
  struct LazyTask {
    std::function<void()> work;  ///< null: it only waits
    std::optional<LinePosition> after{};
  };
  struct TaskLine {
    std::vector<LazyTask> tasks{};
    std::size_t done = 0;
  };

  std::shared_ptr<TaskLine> line() { return lines_.emplace_back(std::make_shared<TaskLine>()); }
  void run() {
    for (std::vector<TaskLine*> ready = free(); !ready.empty(); ready = free()) {
      TaskLine& line =
          *ready[static_cast<std::size_t>(random_.between(0, static_cast<int>(ready.size()) - 1))];
      const LazyTask& task = line.tasks[line.done];
      if (task.work) task.work();
      ++line.done;
    }
    for (const auto& line : lines_) core::require(line->done == line->tasks.size(), "nobody waits for ever");
  }

 private:
  std::vector<TaskLine*> free() const {
    std::vector<TaskLine*> out;
    for (const auto& line : lines_) {
      if (line->done == line->tasks.size()) continue;
      const auto& after = line->tasks[line->done].after;
      if (!after || after->line->done >= after->position) out.push_back(line.get());
    }
    return out;
  }

  core::Random random_;
  std::vector<std::shared_ptr<TaskLine>> lines_;
};

struct LazyEvent final : kernels::Event {
  explicit LazyEvent(LazyDevices::LinePosition when) : moment(std::move(when)) {}
  core::Seconds since(const kernels::Event&) const override { return core::Seconds(1); }
  bool reached() const override { return true; }
  LazyDevices::LinePosition moment;
};

class LazyStream final : public kernels::Stream {
 public:
  explicit LazyStream(LazyDevices& devices) : devices_(devices), line_(devices.line()) {}
  void add(std::function<void()> work) { line_->tasks.push_back({std::move(work)}); }
  std::unique_ptr<kernels::Event> record_event() override {
    return std::make_unique<LazyEvent>(LazyDevices::LinePosition{line_, line_->tasks.size()});
  }
  void wait(const kernels::Event& event) override {
    line_->tasks.push_back({nullptr, dynamic_cast<const LazyEvent&>(event).moment});
  }
  void synchronise() override { devices_.run(); }
  void evict_caches() override {}
  std::function<void()> bundle(int copies, const std::function<void()>& body) override {
    return [copies, body] {
      for (int i = 0; i < copies; ++i) body();
    };
  }

 private:
  LazyDevices& devices_;
  std::shared_ptr<LazyDevices::TaskLine> line_;
};

class LazyDevice final : public kernels::Backend {
 public:
  LazyDevice(LazyDevices& devices, std::size_t number) : devices_(devices), number_(number) {}

  std::string name() const override { return "lazy"; }
  std::string place() const override { return "lazy " + std::to_string(number_); }
  std::vector<std::pair<std::string, std::string>> identity() const override { return host_->identity(); }
  bool supports(kernels::Precision precision) const override { return host_->supports(precision); }
  std::unique_ptr<kernels::Buffer> allocate(kernels::Element element, std::int64_t count) override {
    return host_->allocate(element, count);
  }
  std::unique_ptr<kernels::Stream> make_stream() override { return std::make_unique<LazyStream>(devices_); }
  void write(kernels::Buffer& to, std::span<const std::byte> bytes) override { host_->write(to, bytes); }
  void read(const kernels::Buffer& from, std::span<std::byte> bytes) override { host_->read(from, bytes); }
  void copy(kernels::Buffer& to, const kernels::Buffer& from, kernels::Stream& stream) override {
    later(stream, [this, a = whole(to), b = whole(from)]() mutable { host_->copy(a, b, *now_); });
  }
  void zero(kernels::Buffer& buffer, kernels::Stream& stream) override {
    later(stream, [this, a = whole(buffer)]() mutable { host_->zero(a, *now_); });
  }
  void add(kernels::Buffer& to, const kernels::Buffer& term, kernels::Stream& stream) override {
    later(stream, [this, a = whole(to), b = whole(term)]() mutable { host_->add(a, b, *now_); });
  }
  std::unique_ptr<kernels::Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                               kernels::Precision precision) override {
    return std::make_unique<LazyKernel>(host_->make_kernel(op, samples, precision), *now_);
  }
  std::unique_ptr<kernels::OptimizerStep> make_update(const kernels::UpdateRule& rule, std::int64_t count,
                                                      kernels::Precision precision) override {
    return std::make_unique<LazyUpdate>(host_->make_update(rule, count, precision), *now_);
  }

 private:
  static BufferSlice whole(const kernels::Buffer& buffer) {
    return {buffer.element(), buffer.count(), buffer.data()};
  }
  static void later(kernels::Stream& stream, std::function<void()> work) {
    dynamic_cast<LazyStream&>(stream).add(std::move(work));
  }

  struct LazyKernel final : kernels::Kernel {
    LazyKernel(std::unique_ptr<kernels::Kernel> eager, kernels::Stream& stream)
        : inner(std::move(eager)), now(stream) {}
    const kernels::KernelSlots& slots() const override { return inner->slots(); }
    bool has(graph::Pass pass) const override { return inner->has(pass); }
    void run(graph::Pass pass, const kernels::Operands& operands, kernels::Stream& stream) override {
      later(stream, [this, pass, operands] { inner->run(pass, operands, now); });
    }
    std::string algorithm(graph::Pass pass) const override { return inner->algorithm(pass); }
    core::Bytes workspace(graph::Pass pass) const override { return inner->workspace(pass); }
    std::unique_ptr<kernels::Kernel> inner;
    kernels::Stream& now;
  };

  struct LazyUpdate final : kernels::OptimizerStep {
    LazyUpdate(std::unique_ptr<kernels::OptimizerStep> eager, kernels::Stream& stream)
        : inner(std::move(eager)), now(stream) {}
    const std::vector<kernels::Slot>& state() const override { return inner->state(); }
    void run(kernels::Buffer& parameters, const kernels::Buffer& before, const kernels::Buffer& gradient,
             std::span<kernels::Buffer* const> state, std::int64_t step, kernels::Stream& stream) override {
      later(stream, [this, &parameters, &before, &gradient, state = std::vector(state.begin(), state.end()),
                     step] { inner->run(parameters, before, gradient, state, step, now); });
    }
    std::unique_ptr<kernels::OptimizerStep> inner;
    kernels::Stream& now;
  };

  LazyDevices& devices_;
  const std::size_t number_;
  std::unique_ptr<kernels::Backend> host_ = kernels::open_device("host", 1);
  std::unique_ptr<kernels::Stream> now_ = host_->make_stream();
};

}  // namespace penstock::replay::test
