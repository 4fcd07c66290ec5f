#pragma once
// The tasks of an iteration, twelve bytes each. Private to the simulator.

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "penstock/trace/trace.hpp"

namespace penstock::sim {

using TaskId = std::int32_t;

struct Task {
  std::int64_t duration = 0;  ///< ps; for a transfer with the route to itself
  std::int64_t bytes = 0;     ///< bytes moved; zero for computation
  TaskId next = -1;           ///< successor released first: the device's next pass, or a transfer's receiver
  /// Device of a computing task, path of a transfer; -1 for a closed-form all-reduce.
  std::int32_t place = -1;
  /// For an all-reduce among stages: index of the shared parameters; -1 for other all-reduces.
  std::int32_t micro_batch = -1;
  trace::TaskKind kind = trace::TaskKind::forward;
  core::StageId stage{};  ///< stage that computes, sends or reduces

  /// True for transfers over links, handled by the network.
  bool travels() const { return !trace::computes(kind) && place >= 0; }
  /// Device of a computing task.
  core::DeviceId device() const { return core::DeviceId(static_cast<std::size_t>(place)); }
};

/// A list of tasks. All fields except `next` and `micro_batch` form the work, stored once for all tasks that
/// share it. A pass of one stage on one device takes equally long for every micro-batch.
class TaskStore {
 public:
  TaskStore() = default;
  TaskStore(std::initializer_list<Task> tasks);

  std::size_t size() const { return entries_.size(); }
  /// Builds the task from its two halves; callers use one or two fields, and the compiler drops the rest.
  [[gnu::always_inline]] Task operator[](std::size_t index) const {
    const TaskEntry& entry = entries_[index];
    const TaskWork& work = works_[static_cast<std::size_t>(entry.work)];
    return {work.duration, work.bytes, entry.next, work.place, entry.micro_batch, work.kind, work.stage};
  }
  void reserve(std::size_t tasks) { entries_.reserve(tasks); }
  void push_back(const Task& task);
  void set_duration(std::size_t index, std::int64_t duration);

 private:
  struct TaskWork {
    std::int64_t duration, bytes;
    std::int32_t place;
    core::StageId stage;
    trace::TaskKind kind;
    friend bool operator==(const TaskWork&, const TaskWork&) = default;
  };
  struct TaskEntry {
    TaskId next;
    std::int32_t micro_batch, work;
  };
  static_assert(sizeof(TaskEntry) == 12, "ten million tasks should stay small");

  std::int32_t shared(const TaskWork& work);
  void index_anew();

  std::vector<TaskEntry> entries_;
  std::vector<TaskWork> works_;
  std::vector<std::int32_t> slots_;    ///< hash table of works, with open addressing; -1: empty
  std::vector<std::int32_t> changed_;  ///< [work] latest work that replaced it; -1: none
};

}  // namespace penstock::sim
