#include "tasks/tasks.hpp"

#include <algorithm>

namespace penstock::sim {
namespace {

/// One step of Fibonacci hashing.
std::uint64_t mixed(std::uint64_t state, std::int64_t part) {
  state = (state ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15;
  return state ^ (state >> 29);
}

}  // namespace

TaskStore::TaskStore(std::initializer_list<Task> tasks) {
  for (const Task& task : tasks) push_back(task);
}

void TaskStore::push_back(const Task& task) {
  const TaskWork work{task.duration, task.bytes, task.place, task.stage, task.kind};
  entries_.push_back({task.next, task.micro_batch, shared(work)});
}

/// The work that this work was last changed to is tried first: a slow device changes all its equal passes in
/// the same way.
void TaskStore::set_duration(std::size_t index, std::int64_t duration) {
  TaskEntry& entry = entries_[index];
  const auto old = static_cast<std::size_t>(entry.work);
  if (works_[old].duration == duration) return;
  changed_.resize(works_.size(), -1);
  std::int32_t& latest = changed_[old];
  if (latest < 0 || works_[static_cast<std::size_t>(latest)].duration != duration) {
    latest = static_cast<std::int32_t>(works_.size());
    TaskWork work = works_[old];
    work.duration = duration;
    works_.push_back(work);
  }
  entry.work = latest;
}

/// Returns the index of this work, new or existing.
std::int32_t TaskStore::shared(const TaskWork& work) {
  if (2 * works_.size() >= slots_.size()) index_anew();
  std::uint64_t hash = mixed(mixed(0, work.duration), work.bytes);
  hash = mixed(mixed(hash, work.place), static_cast<std::int64_t>(work.stage.index()));
  hash = mixed(hash, static_cast<std::int64_t>(work.kind));
  for (std::size_t s = hash;; ++s) {
    std::int32_t& slot = slots_[s & (slots_.size() - 1)];
    if (slot >= 0 && works_[static_cast<std::size_t>(slot)] == work) return slot;
    if (slot >= 0) continue;
    slot = static_cast<std::int32_t>(works_.size());
    works_.push_back(work);
    return slot;
  }
}

/// Rebuilds the hash table with twice as many slots.
void TaskStore::index_anew() {
  constexpr std::size_t kLeast = 64;
  slots_.assign(std::max(kLeast, 2 * slots_.size()), -1);
  std::vector<TaskWork> works;
  works.swap(works_);
  works_.reserve(works.size());
  for (const TaskWork& work : works) shared(work);
}

}  // namespace penstock::sim
