#include "engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "penstock/core/error.hpp"

namespace penstock::sim {
namespace {

struct Event {
  std::int64_t time;
  TaskId task;
  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : task > other.task;
  }
};

[[noreturn]] void report_deadlock(const TaskGraph& graph, const std::vector<std::int32_t>& waiting) {
  for (std::size_t t = 0; t < graph.tasks.size(); ++t)
    if (waiting[t] > 0 && graph.tasks[t].kind != trace::TaskKind::transfer)
      throw core::Error(core::ExitCode::invalid_plan,
                        fmt::format("the schedule deadlocks: the {} pass of micro-batch {} on stage {} never starts",
                                    trace::name(graph.tasks[t].kind), graph.tasks[t].micro_batch,
                                    graph.tasks[t].stage));
  throw core::Error(core::ExitCode::internal, "a transfer waits for nothing");
}

class Engine {
 public:
  explicit Engine(const TaskGraph& graph)
      : graph_(graph), waiting_(graph.predecessor_count), link_free_(graph.links) {
    times_.start.resize(graph.tasks.size());
    times_.end.resize(graph.tasks.size());
  }

  Times run() {
    std::size_t done = 0;
    for (std::size_t t = 0; t < waiting_.size(); ++t)
      if (waiting_[t] == 0) begin(static_cast<TaskId>(t), 0);
    for (; !events_.empty(); ++done) {
      const Event event = events_.top();
      events_.pop();
      times_.makespan = event.time;
      const auto t = static_cast<std::size_t>(event.task);
      for (auto s = graph_.successor_start[t]; s < graph_.successor_start[t + 1]; ++s)
        if (--waiting_[static_cast<std::size_t>(graph_.successors[s])] == 0) begin(graph_.successors[s], event.time);
    }
    if (done != graph_.tasks.size()) report_deadlock(graph_, waiting_);
    return std::move(times_);
  }

 private:
  void begin(TaskId id, std::int64_t now) {
    const Task& task = graph_.tasks[static_cast<std::size_t>(id)];
    const std::int64_t start = task.route < 0 ? now : claim_links(task, now);
    times_.start[static_cast<std::size_t>(id)] = start;
    times_.end[static_cast<std::size_t>(id)] = start + task.duration;
    events_.push({start + task.duration, id});
  }

  /// The moment all links of the route are free; they are taken until the transfer ends.
  std::int64_t claim_links(const Task& task, std::int64_t now) {
    const auto& links = graph_.routes[static_cast<std::size_t>(task.route)];
    for (std::size_t l : links) now = std::max(now, link_free_[l]);
    for (std::size_t l : links) link_free_[l] = now + task.duration;
    return now;
  }

  const TaskGraph& graph_;
  std::vector<std::int32_t> waiting_;
  std::vector<std::int64_t> link_free_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Times times_;
};

}  // namespace

Times run(const TaskGraph& graph) { return Engine(graph).run(); }

}  // namespace penstock::sim
