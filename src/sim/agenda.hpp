#pragma once
// Future events in time order, and a record of past ones.

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "tasks/task_graph.hpp"

namespace penstock::sim {

struct TaskEvent {
  std::int64_t time;  ///< ps
  TaskId task;
  bool operator>(const TaskEvent& other) const {
    return time != other.time ? time > other.time : task > other.task;
  }
};

struct TaskTimes {
  std::vector<std::int64_t> start;  ///< [task], ps
  std::vector<std::int64_t> end;
  std::int64_t makespan = 0;
};

/// Events leave sorted by time; at one moment, by task.
class EventAgenda {
 public:
  bool empty() const { return heap_.empty(); }
  const TaskEvent& top() const { return heap_.top(); }
  void post(TaskId task, std::int64_t time) { heap_.push({time, task}); }
  void pop() { heap_.pop(); }

 private:
  std::priority_queue<TaskEvent, std::vector<TaskEvent>, std::greater<>> heap_;
};

/// Records starts and ends; with `all` false only the makespan, which takes no memory.
class TaskRecorder {
 public:
  TaskRecorder(std::size_t tasks, bool all) : all_(all) {
    if (all) times_.start.resize(tasks), times_.end.resize(tasks);
  }
  /// Receives every start (change 1) and end (change -1).
  using Watcher = std::function<void(TaskId, std::int64_t now, int change)>;
  void watch(Watcher watcher) { watcher_ = std::move(watcher); }

  void start(TaskId task, std::int64_t now) {
    if (watcher_) watcher_(task, now, 1);
    if (all_) times_.start[static_cast<std::size_t>(task)] = now;
  }
  void end(TaskId task, std::int64_t now) {
    if (watcher_) watcher_(task, now, -1);
    times_.makespan = now;  // events come in time order
    if (all_) times_.end[static_cast<std::size_t>(task)] = now;
  }
  TaskTimes take() { return std::move(times_); }

 private:
  bool all_;
  Watcher watcher_;
  TaskTimes times_;
};

}  // namespace penstock::sim
