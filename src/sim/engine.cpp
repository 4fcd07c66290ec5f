#include "engine.hpp"

#include <fmt/format.h>

#include <functional>
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

/// Links in use, and the transfers that wait for them. A waiting transfer is filed under one link that is busy.
class Network {
 public:
  explicit Network(const TaskGraph& graph) : graph_(graph), links_(graph.links) {}

  /// True when the transfer may start now and has taken its links; else it waits.
  bool request(TaskId id) { return take_or_wait({next_number_++, id}); }

  /// Frees the links of a transfer that ended; calls start(task) for each waiting one that got its links.
  template <class F>
  void release(TaskId id, F&& start) {
    const auto& route = route_of(id);
    for (std::size_t l : route) links_[l].busy = false;
    while (const std::size_t* link = first_waiting(route)) {
      const Waiter next = links_[*link].waiting.top();
      links_[*link].waiting.pop();
      if (take_or_wait(next)) start(next.task);
    }
  }

 private:
  struct Waiter {
    std::int64_t number;  ///< order of becoming ready
    TaskId task;
    bool operator>(const Waiter& other) const { return number > other.number; }
  };
  struct Link {
    bool busy = false;
    std::priority_queue<Waiter, std::vector<Waiter>, std::greater<>> waiting;
  };

  const std::vector<std::size_t>& route_of(TaskId id) const {
    return graph_.routes[static_cast<std::size_t>(graph_.tasks[static_cast<std::size_t>(id)].route)];
  }

  bool take_or_wait(Waiter waiter) {
    const auto& route = route_of(waiter.task);
    for (std::size_t l : route)
      if (links_[l].busy) {
        links_[l].waiting.push(waiter);
        return false;
      }
    for (std::size_t l : route) links_[l].busy = true;
    return true;
  }

  /// Among the free links of the route, the one whose first waiter became ready first; null when nobody waits.
  const std::size_t* first_waiting(const std::vector<std::size_t>& route) const {
    const std::size_t* best = nullptr;
    for (const std::size_t& l : route)
      if (!links_[l].busy && !links_[l].waiting.empty() &&
          (!best || links_[*best].waiting.top() > links_[l].waiting.top()))
        best = &l;
    return best;
  }

  const TaskGraph& graph_;
  std::vector<Link> links_;
  std::int64_t next_number_ = 0;
};

class Engine {
 public:
  explicit Engine(const TaskGraph& graph) : graph_(graph), waiting_(graph.predecessor_count), network_(graph) {
    times_.start.resize(graph.tasks.size());
    times_.end.resize(graph.tasks.size());
  }

  Times run() {
    std::size_t done = 0;
    for (std::size_t t = 0; t < waiting_.size(); ++t)
      if (waiting_[t] == 0) ready(static_cast<TaskId>(t), 0);
    for (; !events_.empty(); ++done) {
      const Event event = events_.top();
      events_.pop();
      times_.makespan = event.time;
      finish(event);
    }
    if (done != graph_.tasks.size()) report_deadlock(graph_, waiting_);
    return std::move(times_);
  }

 private:
  bool is_transfer(TaskId id) const { return graph_.tasks[static_cast<std::size_t>(id)].route >= 0; }

  void ready(TaskId id, std::int64_t now) {
    if (!is_transfer(id) || network_.request(id)) start(id, now);
  }

  void start(TaskId id, std::int64_t now) {
    const std::int64_t end = now + graph_.tasks[static_cast<std::size_t>(id)].duration;
    times_.start[static_cast<std::size_t>(id)] = now;
    times_.end[static_cast<std::size_t>(id)] = end;
    events_.push({end, id});
  }

  void finish(const Event& event) {
    const auto t = static_cast<std::size_t>(event.task);
    if (is_transfer(event.task)) network_.release(event.task, [&](TaskId next) { start(next, event.time); });
    for (auto s = graph_.successor_start[t]; s < graph_.successor_start[t + 1]; ++s)
      if (--waiting_[static_cast<std::size_t>(graph_.successors[s])] == 0) ready(graph_.successors[s], event.time);
  }

  const TaskGraph& graph_;
  std::vector<std::int32_t> waiting_;
  Network network_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Times times_;
};

}  // namespace

Times run(const TaskGraph& graph) { return Engine(graph).run(); }

}  // namespace penstock::sim
