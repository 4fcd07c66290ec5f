#include "dispatch.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>

#include "penstock/core/error.hpp"

namespace penstock::schedule {
namespace {

using core::Picoseconds;

class TaskDispatcher {
 public:
  TaskDispatcher(const Pipeline& pipeline, const MachineOrder& stage_rows)
      : pipeline_(pipeline),
        rows_(stage_rows),
        unrolled_(pipeline),
        count_(static_cast<std::size_t>(pipeline.micro_batches)),
        arrival_(unrolled_.steps.size() * count_, Picoseconds(0)),
        missing_(unrolled_.steps.size() * count_),
        next_(unrolled_.steps.size()),
        free_(unrolled_.machines),
        out_(unrolled_.machines) {
    for (std::size_t id = 0; id < unrolled_.steps.size(); ++id)
      std::fill_n(missing_.begin() + static_cast<std::ptrdiff_t>(id * count_), count_,
                  static_cast<std::uint32_t>(unrolled_.steps[id].waits_for.size()));
  }

  DispatchResult finish() {
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) moments_.push({Picoseconds(0), s});
    while (!moments_.empty()) {
      const MachineMoment moment = moments_.top();
      moments_.pop();
      if (free_[moment.machine] > moment.time) continue;
      if (const auto id = choose(moment.machine, moment.time)) start(*id, moment.time);
    }
    for (const std::size_t done : next_)
      core::require(done == count_, "an order by rule leaves no task waiting");
    Picoseconds makespan(0);
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s)
      makespan = std::max(makespan, free_[s] + pipeline_.stages[s].after);
    return {std::move(out_), makespan};
  }

 private:
  struct MachineMoment {
    Picoseconds time;
    std::size_t machine;
    auto operator<=>(const MachineMoment&) const = default;
  };

  bool ready(std::size_t id, Picoseconds now) const {
    const std::size_t task = id * count_ + next_[id];
    return next_[id] < count_ && missing_[task] == 0 && arrival_[task] <= now && has_room(id);
  }

  bool has_room(std::size_t id) const {
    if (id >= pipeline_.stages.size() || pipeline_.stages[id].room == 0) return true;
    return next_[id] - next_[unrolled_.backward(id)] < static_cast<std::size_t>(pipeline_.stages[id].room);
  }

  std::optional<std::size_t> choose(std::size_t machine, Picoseconds now) const {
    const auto& steps = unrolled_.steps_of[machine];
    if (machine < rows_.size()) {
      const std::size_t cell = out_[machine].size();
      if (cell == rows_[machine].size()) return {};
      const std::size_t id = steps[static_cast<std::size_t>(rows_[machine][cell].phase)];
      return ready(id, now) ? std::optional(id) : std::nullopt;
    }
    if (ready(steps.back(), now)) return steps.back();
    return ready(steps.front(), now) ? std::optional(steps.front()) : std::nullopt;
  }

  void start(std::size_t id, Picoseconds now) {
    const PipelineStep& step = unrolled_.steps[id];
    const std::size_t m = next_[id]++;
    const Picoseconds end = free_[step.machine] = now + step.duration;
    out_[step.machine].push_back({step.phase, static_cast<std::int32_t>(m)});
    for (const std::size_t waiting : step.awaited_by) arrive(waiting, m, end + step.latency);
    moments_.push({end, step.machine});
  }

  void arrive(std::size_t id, std::size_t m, Picoseconds time) {
    const std::size_t task = id * count_ + m;
    arrival_[task] = std::max(arrival_[task], time);
    const std::size_t machine = unrolled_.steps[id].machine;
    // A busy machine is considered again when it is free.
    if (--missing_[task] == 0 && free_[machine] <= arrival_[task]) moments_.push({arrival_[task], machine});
  }

  const Pipeline& pipeline_;
  const MachineOrder& rows_;
  const UnrolledPipeline unrolled_;
  std::size_t count_;
  std::vector<Picoseconds> arrival_;    ///< [step * count + micro-batch] arrival of the last input so far
  std::vector<std::uint32_t> missing_;  ///< [step * count + micro-batch] inputs that have not arrived
  std::vector<std::size_t> next_;       ///< [step] next micro-batch
  std::vector<Picoseconds> free_;       ///< [machine] time from which it is free
  std::priority_queue<MachineMoment, std::vector<MachineMoment>, std::greater<>> moments_;
  MachineOrder out_;
};

}  // namespace

DispatchResult dispatch(const Pipeline& pipeline, const MachineOrder& stage_rows) {
  return TaskDispatcher(pipeline, stage_rows).finish();
}

}  // namespace penstock::schedule
