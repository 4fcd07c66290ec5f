#include "groups/relay.hpp"

#include <algorithm>
#include <thread>

#include "penstock/core/error.hpp"

namespace penstock::replay {

class TaskRelay::Member : public GroupPeers {
 public:
  Member(TaskRelay& relay, std::size_t number) : relay_(relay), number_(number) {}
  void share(const Shared& own, core::Seconds time,
             const std::function<void(const std::vector<Shared>&)>& use) override {
    relay_.share(number_, own, time, use);
  }

 private:
  TaskRelay& relay_;
  const std::size_t number_;
};

TaskRelay::TaskRelay(std::size_t members, std::function<core::Seconds()> stopwatch)
    : stopwatch_(std::move(stopwatch)), shared_(members) {
  for (std::size_t m = 0; m < members; ++m) members_.push_back(std::make_unique<Member>(*this, m));
}

std::vector<core::Seconds> TaskRelay::run(const std::vector<std::function<void()>>& tasks) {
  turn_ = 0;
  rounds_.assign(tasks.size(), 0);
  ended_.assign(tasks.size(), false);
  clock_.assign(tasks.size(), core::Seconds(0));
  collectives_ = core::Seconds(0);
  failure_ = nullptr;
  {
    std::vector<std::jthread> threads;
    for (std::size_t m = 0; m < tasks.size(); ++m)
      threads.emplace_back([this, m, &tasks] { serve(m, tasks[m]); });
  }
  if (failure_) std::rethrow_exception(failure_);
  return clock_;
}

void TaskRelay::serve(std::size_t member, const std::function<void()>& task) {
  take_turn(member);
  began_ = stopwatch_();
  try {
    if (!failure_) task();
  } catch (const HaltSignal&) {
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
  clock_[member] += std::max(core::Seconds(0), stopwatch_() - began_);
  ended_[member] = true;
  hand_over(member);
}

/// Members take turns. When the turn returns after all have arrived, all data is shared; when it returns once
/// more, all have used it.
void TaskRelay::share(std::size_t member, const GroupPeers::Shared& own, core::Seconds time,
                      const std::function<void(const std::vector<GroupPeers::Shared>&)>& use) {
  clock_[member] += std::max(core::Seconds(0), stopwatch_() - began_);
  shared_[member] = own;
  ++rounds_[member];
  hand_over(member);
  take_turn(member);
  check(member);
  const core::Seconds over = *std::ranges::max_element(clock_) + time;
  use(shared_);
  hand_over(member);
  take_turn(member);
  check(member);
  clock_[member] = over;
  if (member == 0) collectives_ += time;
  began_ = stopwatch_();
}

void TaskRelay::take_turn(std::size_t member) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return turn_ == member; });
}

/// Passes the turn to the next member that has not ended.
void TaskRelay::hand_over(std::size_t member) {
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 1; i <= ended_.size(); ++i) {
      turn_ = (member + i) % ended_.size();
      if (!ended_[turn_]) break;
    }
  }
  wake_.notify_all();
}

void TaskRelay::check(std::size_t member) const {
  if (failure_) throw HaltSignal{};
  core::require(std::ranges::all_of(rounds_, [&](int rounds) { return rounds >= rounds_[member]; }),
                "devices of a group come to the same collectives");
}

}  // namespace penstock::replay
