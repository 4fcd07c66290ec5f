#include "steady/steady_time.hpp"

#include <algorithm>
#include <limits>

#include "engine.hpp"
#include "steady/order_period.hpp"
#include "tasks/prepare.hpp"

namespace penstock::sim {
namespace {

/// Finds the repeated tasks of a graph, given the growth of its sections with the number of periods.
class SectionSearch {
 public:
  /// `shorter` has `fewer` periods less.
  SectionSearch(const IterationTasks& tasks, const IterationTasks& shorter, std::int64_t fewer)
      : graph_(tasks.graph) {
    const auto end = [](const IterationTasks& of, std::size_t s) {
      return s + 1 < of.sections.size() ? of.sections[s + 1] : static_cast<TaskId>(of.graph.tasks.size());
    };
    possible_ = tasks.sections.size() == shorter.sections.size();
    for (std::size_t s = 0; possible_ && s < tasks.sections.size(); ++s) {
      RepeatedSection section{tasks.sections[s], end(tasks, s)};
      const std::int64_t more = section.end - section.first - (end(shorter, s) - shorter.sections[s]);
      possible_ = more >= 0 && more % fewer == 0;
      section.step = static_cast<TaskId>(more / fewer);
      step_.resize(static_cast<std::size_t>(section.end), section.step);
      section.from = section.until = section.first;
      sections_.push_back(section);
    }
  }

  std::optional<std::vector<RepeatedSection>> find() {
    if (!possible_ || sections_.front().step == 0) return {};
    for (RepeatedSection& section : sections_) {
      if (section.step == 0) continue;
      section.from = section.until = section.first + (section.end - section.first) / 2;
      while (section.from > section.first && repeats(section.from - 1, section)) --section.from;
      while (section.until + section.step < section.end && repeats(section.until, section)) ++section.until;
    }
    return std::move(sections_);
  }

 private:
  TaskId later(TaskId id) const { return id + step_[static_cast<std::size_t>(id)]; }
  bool matches(TaskId early, TaskId late) const {
    return step_[static_cast<std::size_t>(early)] > 0 && late == later(early);
  }

  bool repeats(TaskId id, const RepeatedSection& section) const {
    if (id + section.step >= section.end) return false;
    const Task a = graph_.task(id), b = graph_.task(later(id));
    if (a.duration != b.duration || a.bytes != b.bytes || a.place != b.place || a.kind != b.kind ||
        a.stage != b.stage || (a.next < 0) != (b.next < 0) || (a.next >= 0 && !matches(a.next, b.next)))
      return false;
    const auto x = static_cast<std::size_t>(id), y = static_cast<std::size_t>(later(id));
    if (graph_.predecessor_count[x] == 0 || graph_.predecessor_count[x] != graph_.predecessor_count[y])
      return false;  // a task that waits for none starts with the run, far from its period
    const auto *first = graph_.successors.data() + graph_.successor_start[x],
               *end = graph_.successors.data() + graph_.successor_start[x + 1],
               *late = graph_.successors.data() + graph_.successor_start[y],
               *late_end = graph_.successors.data() + graph_.successor_start[y + 1];
    return std::equal(first, end, late, late_end, [&](TaskId p, TaskId q) { return matches(p, q); });
  }

  const TaskGraph& graph_;
  std::vector<TaskId> step_;  ///< [task]
  std::vector<RepeatedSection> sections_;
  bool possible_ = false;
};

/// True if only the order distinguishes micro-batches, and the iteration time is the makespan.
bool may_repeat(const schedule::ScheduledPlan& scheduled, const SimulationOptions& options) {
  return options.perturbation == nullptr && options.message_order == MessageOrder::free &&
         !plan::asynchronous(scheduled.plan);
}

AbridgedPlan shortened(const cost::Problem& problem, const schedule::ScheduledPlan& shorter,
                       const SimulationOptions& options) {
  cost::Problem of = problem;
  of.training.mini_batch = shorter.plan.training.mini_batch;
  return abridged(of, shorter, options);
}

}  // namespace

std::optional<core::Picoseconds> steady_time(const cost::Problem& problem,
                                             const schedule::ScheduledPlan& scheduled,
                                             const SimulationOptions& options, std::int64_t share) {
  if (!may_repeat(scheduled, options)) return {};
  const std::int64_t mini_batch = scheduled.plan.training.mini_batch;
  constexpr std::int64_t kFewest = 2;  // periods that a plan keeps, so that none of its rules changes
  if (mini_batch / scheduled.plan.stages.front().micro_batch / share <= kFewest) return {};
  const auto period = order_period(scheduled.plan, scheduled.order);
  if (!period) return {};
  const std::int64_t periods = mini_batch / period->samples, most = period->count - kFewest;
  std::int64_t cut = periods - periods / share;
  if (cut >= most - 1) return {};
  const auto shortest = without_periods(problem.graph, scheduled, *period, most);
  if (!schedule::order_violations(shortest.plan, shortest.order).empty()) return {};
  const IterationTasks small = shortened(problem, shortest, options).iteration;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const AbridgedPlan part =
        shortened(problem, without_periods(problem.graph, scheduled, *period, cut), options);
    const auto sections = SectionSearch(part.iteration, small, most - cut).find();
    if (!sections) return {};
    const RepeatedRun run = run_repeated(part.iteration.graph, options.network, *sections, options.stop);
    if (run.state.periods == 0) return {};
    const std::int64_t times = cut / run.state.periods;
    if (cut % run.state.periods == 0) {
      if (run.state.time > (std::numeric_limits<std::int64_t>::max() - run.makespan) / times) return {};
      return core::Picoseconds(run.makespan + times * run.state.time);
    }
    cut = times * run.state.periods;  // keeps a few periods more
  }
  return {};
}

}  // namespace penstock::sim
