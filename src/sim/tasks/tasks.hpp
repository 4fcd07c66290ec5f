#pragma once
// The tasks of an iteration, twelve bytes each. Private to the simulator.

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "penstock/trace/trace.hpp"

namespace penstock::sim {

using TaskId = std::int32_t;

struct Task {
  std::int64_t duration = 0;  ///< ps; of a transfer: when nothing else uses its route
  std::int64_t bytes = 0;     ///< moved; zero for compute
  TaskId next = -1;           ///< released first: the device's next pass, or a transfer's receiver
  std::int32_t place = -1;  ///< device of what computes, path of what travels; of a closed-form all-reduce -1
  std::int32_t micro_batch = -1;  ///< of an all-reduce among stages: which shared parameters; else -1 there
  trace::TaskKind kind = trace::TaskKind::forward;
  core::StageId stage{};  ///< computing, sending or reducing

  /// Over the links, handled by the network.
  bool travels() const { return !trace::computes(kind) && place >= 0; }
  /// Where it computes.
  core::DeviceId device() const { return core::DeviceId(static_cast<std::size_t>(place)); }
};

/// A list of tasks. All but `next` and `micro_batch` is kept once for all tasks that share it, their work: a
/// pass of one stage on one device takes equally long for every micro-batch.
class Tasks {
 public:
  Tasks() = default;
  Tasks(std::initializer_list<Task> tasks);

  std::size_t size() const { return entries_.size(); }
  /// Made of its two halves; of which a caller uses one or two fields, and the compiler drops the rest.
  [[gnu::always_inline]] Task operator[](std::size_t index) const {
    const Entry& entry = entries_[index];
    const Work& work = works_[static_cast<std::size_t>(entry.work)];
    return {work.duration, work.bytes, entry.next, work.place, entry.micro_batch, work.kind, work.stage};
  }
  void reserve(std::size_t tasks) { entries_.reserve(tasks); }
  void push_back(const Task& task);
  void set_duration(std::size_t index, std::int64_t duration);

 private:
  struct Work {
    std::int64_t duration, bytes;
    std::int32_t place;
    core::StageId stage;
    trace::TaskKind kind;
    friend bool operator==(const Work&, const Work&) = default;
  };
  struct Entry {
    TaskId next;
    std::int32_t micro_batch, work;
  };
  static_assert(sizeof(Entry) == 12, "ten million tasks should stay small");

  std::int32_t shared(const Work& work);
  void index_anew();

  std::vector<Entry> entries_;
  std::vector<Work> works_;
  std::vector<std::int32_t> slots_;    ///< hash table of works, by open addressing; -1: empty
  std::vector<std::int32_t> changed_;  ///< [work] the latest one that took its place; -1: none
};

}  // namespace penstock::sim
