#pragma once
// A trace drawn by hand: one-forward-one-backward on a chain of stages, one device each.

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "penstock/trace/trace.hpp"

namespace penstock::support {

struct DrawnShape {
  std::size_t stages = 4;
  std::int32_t micro_batches = 8;
  std::int64_t forward_ps = 10'000'000'000;    ///< 10 ms; a backward pass takes twice as long
  std::int64_t transfer_ps = 1'000'000'000;    ///< 1 ms
  std::int64_t all_reduce_ps = 8'000'000'000;  ///< 8 ms, after the last backward pass
};

/// Runs every stage's fixed order of tasks as early as its inputs allow, then fills in memory.
class DrawnTrace {
 public:
  static trace::Trace make(const DrawnShape& shape) { return DrawnTrace(shape).trace_; }

 private:
  using Time = core::Picoseconds;
  struct DrawnTask {
    trace::TaskKind kind;
    std::int32_t micro_batch;
  };
  /// When a stage's input for each micro-batch has arrived.
  using Arrivals = std::vector<std::vector<std::optional<Time>>>;

  explicit DrawnTrace(const DrawnShape& shape)
      : shape_(shape), arrived_{grid(), grid()}, changes_(shape.stages) {
    for (auto& at_first : arrived_[0].front()) at_first = Time();
    for (auto& at_last : arrived_[1].back()) at_last = Time();
    run();
    all_reduce();
    finish();
  }

  Arrivals grid() const {
    return Arrivals(shape_.stages,
                    std::vector<std::optional<Time>>(static_cast<std::size_t>(shape_.micro_batches)));
  }

  /// Warm-up forwards, then backward and forward in turn: 0F 1F 0B 2F 1B ...
  std::vector<DrawnTask> order(std::size_t stage) const {
    std::vector<DrawnTask> out;
    const auto warm_up = std::min(shape_.micro_batches, static_cast<std::int32_t>(shape_.stages - stage));
    for (std::int32_t m = 0; m < warm_up; ++m) out.push_back({trace::TaskKind::forward, m});
    for (std::int32_t m = 0; m < shape_.micro_batches; ++m) {
      out.push_back({trace::TaskKind::backward, m});
      if (m + warm_up < shape_.micro_batches) out.push_back({trace::TaskKind::forward, m + warm_up});
    }
    return out;
  }

  void run() {
    std::vector<std::vector<DrawnTask>> orders;
    for (std::size_t s = 0; s < shape_.stages; ++s) orders.push_back(order(s));
    std::vector<std::size_t> next(shape_.stages, 0);
    free_.resize(shape_.stages);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < shape_.stages; ++s)
        while (next[s] < orders[s].size() && start(s, orders[s][next[s]])) ++next[s], moved = true;
    }
  }

  /// Executes the task when its input has a time of arrival; false when that is still unknown.
  bool start(std::size_t s, DrawnTask task) {
    const bool forward = task.kind == trace::TaskKind::forward;
    const auto m = static_cast<std::size_t>(task.micro_batch);
    const auto arrival = arrived_[forward ? 0 : 1][s][m];
    if (!arrival) return false;
    const Time begin = std::max(free_[s], *arrival);
    const Time end = begin + Time(shape_.forward_ps * (forward ? 1 : 2));
    free_[s] = end;
    add(task.kind, s, {}, task.micro_batch, begin, end, 0);
    change(s, forward ? begin : end, (forward ? 1 : -1) * kActivation, 0);
    const bool received = forward ? s > 0 : s + 1 < shape_.stages;
    if (received) change(s, end, 0, -kBuffer);
    const bool sends = forward ? s + 1 < shape_.stages : s > 0;
    if (sends) send(s, forward ? s + 1 : s - 1, task, end);
    return true;
  }

  void send(std::size_t from, std::size_t to, DrawnTask task, Time begin) {
    const Time end = begin + Time(shape_.transfer_ps);
    add(trace::TaskKind::transfer, from, core::DeviceId(to), task.micro_batch, begin, end, kBuffer);
    change(to, begin, 0, kBuffer);
    arrived_[task.kind == trace::TaskKind::forward ? 0 : 1][to][static_cast<std::size_t>(task.micro_batch)] =
        end;
  }

  void all_reduce() {
    for (std::size_t s = 0; s < shape_.stages && shape_.all_reduce_ps > 0; ++s)
      add(trace::TaskKind::all_reduce, s, {}, -1, free_[s], free_[s] + Time(shape_.all_reduce_ps),
          4 * kActivation);
  }

  void add(trace::TaskKind kind, std::size_t s, core::DeviceId peer, std::int32_t m, Time begin, Time end,
           std::int64_t bytes) {
    trace_.spans.push_back(
        {kind, core::DeviceId(s), peer, core::StageId(s), m, begin, end, core::Bytes(bytes)});
    trace_.iteration = std::max(trace_.iteration, end);
  }

  void change(std::size_t s, Time time, std::int64_t activations, std::int64_t buffers) {
    changes_[s].push_back({time, core::Bytes(activations), core::Bytes(buffers)});
  }

  void finish() {
    trace_.mini_batch = 4 * shape_.micro_batches;
    std::sort(trace_.spans.begin(), trace_.spans.end(), [](const trace::Span& a, const trace::Span& b) {
      return std::tie(a.start, a.device, a.kind, a.stage, a.micro_batch) <
             std::tie(b.start, b.device, b.kind, b.stage, b.micro_batch);
    });
    for (std::size_t s = 0; s < shape_.stages; ++s) trace_.devices.push_back(device(s));
  }

  trace::DeviceTrace device(std::size_t s) {
    trace::DeviceTrace out{{core::StageId(s)}, core::Bytes(16 * kGiB), {}, {{}}};
    // 2 GiB of weights with gradients and two optimizer states, 1 GiB of workspace.
    out.fixed = {core::Bytes(kGiB), core::Bytes(kGiB), core::Bytes(2 * kGiB), core::Bytes(kGiB / 2), {}, {}};
    std::stable_sort(changes_[s].begin(), changes_[s].end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
    for (const trace::MemoryPoint& c : changes_[s]) {
      if (out.memory.back().time < c.time)
        out.memory.push_back({c.time, out.memory.back().activations, out.memory.back().buffers});
      out.memory.back().activations += c.activations;
      out.memory.back().buffers += c.buffers;
    }
    return out;
  }

  static constexpr std::int64_t kGiB = 1 << 30;
  static constexpr std::int64_t kActivation = 2 * kGiB;  ///< of one micro-batch on one stage
  static constexpr std::int64_t kBuffer = kGiB / 4;      ///< one tensor between stages

  DrawnShape shape_;
  Arrivals arrived_[2];  ///< for forward and backward passes
  std::vector<std::vector<trace::MemoryPoint>> changes_;
  std::vector<Time> free_;
  trace::Trace trace_;
};

inline trace::Trace drawn_trace(const DrawnShape& shape = {}) {
  return DrawnTrace::make(shape);
}

}  // namespace penstock::support
