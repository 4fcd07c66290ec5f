#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/schedule/pipeline.hpp"

namespace penstock::schedule {
namespace {

using core::Picoseconds;

constexpr Picoseconds kNotYet{-1};

class PipelineExecutor {
 public:
  PipelineExecutor(const Pipeline& pipeline, const MachineOrder& order)
      : pipeline_(pipeline),
        order_(order),
        unrolled_(pipeline),
        count_(static_cast<std::size_t>(pipeline.micro_batches)),
        done_(unrolled_.steps.size() * count_, kNotYet),
        free_(unrolled_.machines),
        out_{Picoseconds(0), std::vector<std::vector<Picoseconds>>(unrolled_.machines)} {
    check_rows();
  }

  PipelineRun run() {
    for (std::size_t k = 0; k < unrolled_.machines; ++k) agenda_.push_back(k);
    while (!agenda_.empty()) {
      const std::size_t machine = agenda_.back();
      agenda_.pop_back();
      while (advance(machine)) {
      }
    }
    check_finished();
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s)
      out_.makespan = std::max(out_.makespan, free_[s] + pipeline_.stages[s].after);
    return std::move(out_);
  }

 private:
  /// Step that a machine runs in this phase; none if it runs no such tasks.
  std::size_t step_of(std::size_t machine, PassPhase phase) const {
    for (const std::size_t step : unrolled_.steps_of[machine])
      if (unrolled_.steps[step].phase == phase) return step;
    return unrolled_.steps.size();
  }

  void check_rows() const {
    if (order_.size() != unrolled_.machines)
      throw core::BadInput(fmt::format("{} rows for {} machines", order_.size(), unrolled_.machines));
    for (std::size_t k = 0; k < order_.size(); ++k) check_row(k);
  }

  void check_row(std::size_t machine) const {
    std::vector<bool> seen[2] = {std::vector<bool>(count_), std::vector<bool>(count_)};
    const auto& row = order_[machine];
    for (std::size_t c = 0; c < row.size(); ++c) {
      const auto m = static_cast<std::size_t>(row[c].micro_batch);
      auto& before = seen[static_cast<std::size_t>(row[c].phase)];
      const bool known =
          row[c].micro_batch >= 0 && m < count_ && step_of(machine, row[c].phase) < unrolled_.steps.size();
      if (!known || before[m])
        throw core::BadInput(fmt::format("machine {} cell {}: {} {}", machine, c, tokens({row[c]}),
                                         known ? "appears twice there" : "is no task of this machine"));
      before[m] = true;
    }
    if (row.size() != unrolled_.steps_of[machine].size() * count_)
      throw core::BadInput(fmt::format("machine {}: {} tasks where {} are due", machine, row.size(),
                                       unrolled_.steps_of[machine].size() * count_));
  }

  /// Runs the machine's next task if all its inputs have arrival times.
  bool advance(std::size_t machine) {
    auto& ends = out_.ends[machine];
    if (ends.size() == order_[machine].size()) return false;
    const Task& task = order_[machine][ends.size()];
    const auto m = static_cast<std::size_t>(task.micro_batch);
    const std::size_t id = step_of(machine, task.phase);
    const PipelineStep& step = unrolled_.steps[id];
    Picoseconds start = free_[machine];
    for (const std::size_t before : step.waits_for) {
      const Picoseconds end = done_[before * count_ + m];
      if (end == kNotYet) return false;
      start = std::max(start, end + unrolled_.steps[before].latency);
    }
    free_[machine] = done_[id * count_ + m] = start + step.duration;
    ends.push_back(free_[machine]);
    for (const std::size_t next : step.awaited_by)
      if (unrolled_.steps[next].machine != machine) agenda_.push_back(unrolled_.steps[next].machine);
    return true;
  }

  void check_finished() const {
    for (std::size_t k = 0; k < order_.size(); ++k)
      if (const std::size_t c = out_.ends[k].size(); c < order_[k].size())
        throw core::Error(core::ExitCode::invalid_plan,
                          fmt::format("the order deadlocks: machine {} cell {} ({}) never starts", k, c,
                                      tokens({order_[k][c]})));
  }

  const Pipeline& pipeline_;
  const MachineOrder& order_;
  const UnrolledPipeline unrolled_;
  std::size_t count_;
  std::vector<Picoseconds> done_;    ///< [step * count + micro-batch] end
  std::vector<Picoseconds> free_;    ///< [machine] time from which it is free
  std::vector<std::size_t> agenda_;  ///< machines whose next task may have become ready
  PipelineRun out_;
};

}  // namespace

PipelineRun execute(const Pipeline& pipeline, const MachineOrder& order) {
  return PipelineExecutor(pipeline, order).run();
}

}  // namespace penstock::schedule
