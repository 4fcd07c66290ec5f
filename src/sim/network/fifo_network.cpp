#include "network/fifo_network.hpp"

#include <algorithm>

#include "explain/stuck.hpp"

namespace penstock::sim {

FifoNetwork::FifoNetwork(const TaskGraph& graph, EventAgenda& agenda, TaskRecorder& record)
    : graph_(graph), agenda_(agenda), record_(record), links_(graph.capacity.size()) {
  if (graph.changes.empty()) return;
  for (const TransferPath& path : graph.paths) speed_.push_back(path_speed(graph, path));
}

std::int64_t FifoNetwork::end_of(TaskId transfer, std::int64_t start) const {
  const Task task = graph_.task(transfer);
  if (speed_.empty() || task.bytes == 0) return start + task.duration;
  const std::int64_t latency = graph_.path(transfer).latency;
  const std::int64_t end =
      speed_[static_cast<std::size_t>(task.place)].finish(start + latency, task.duration - latency);
  if (end == SpeedProfile::kNever) report_dead_link(graph_, transfer);
  return end;
}

void FifoNetwork::request(TaskId transfer, std::int64_t now) {
  start_or_wait({next_number_++, transfer}, now);
}

bool FifoNetwork::due(TaskId transfer, std::int64_t now) {
  const Route& route = graph_.path(transfer).links;
  for (const std::uint32_t l : route) links_[l].busy = false;
  while (LinkQueue* link = first_waiting(route)) {
    const WaitingTransfer next = link->waiting.top();
    link->waiting.pop();
    start_or_wait(next, now);
  }
  return true;
}

void FifoNetwork::start_or_wait(WaitingTransfer waiter, std::int64_t now) {
  const Route& route = graph_.path(waiter.task).links;
  for (const std::uint32_t l : route)
    if (links_[l].busy) return links_[l].waiting.push(waiter);
  for (const std::uint32_t l : route) links_[l].busy = true;
  record_.start(waiter.task, now);
  agenda_.post(waiter.task, end_of(waiter.task, now));
}

/// Among the free links of the route, the one whose first waiter became ready first; null if there are no
/// waiters.
FifoNetwork::LinkQueue* FifoNetwork::first_waiting(const Route& route) {
  LinkQueue* best = nullptr;
  for (const std::uint32_t l : route) {
    LinkQueue& link = links_[l];
    if (!link.busy && !link.waiting.empty() && (!best || best->waiting.top() > link.waiting.top()))
      best = &link;
  }
  return best;
}

}  // namespace penstock::sim
