#include "fifo_network.hpp"

namespace penstock::sim {

void FifoNetwork::request(TaskId transfer, std::int64_t now) {
  start_or_wait({next_number_++, transfer}, now);
}

bool FifoNetwork::due(TaskId transfer, std::int64_t now) {
  const Route& route = graph_.path(transfer).links;
  for (const std::uint32_t l : route) links_[l].busy = false;
  while (Link* link = first_waiting(route)) {
    const Waiter next = link->waiting.top();
    link->waiting.pop();
    start_or_wait(next, now);
  }
  return true;
}

void FifoNetwork::start_or_wait(Waiter waiter, std::int64_t now) {
  const Route& route = graph_.path(waiter.task).links;
  for (const std::uint32_t l : route)
    if (links_[l].busy) return links_[l].waiting.push(waiter);
  for (const std::uint32_t l : route) links_[l].busy = true;
  record_.start(waiter.task, now);
  agenda_.post(waiter.task, now + graph_.task(waiter.task).duration);
}

/// Among the free links of the route, the one whose first waiter became ready first; null when nobody waits.
FifoNetwork::Link* FifoNetwork::first_waiting(const Route& route) {
  Link* best = nullptr;
  for (const std::uint32_t l : route) {
    Link& link = links_[l];
    if (!link.busy && !link.waiting.empty() && (!best || best->waiting.top() > link.waiting.top()))
      best = &link;
  }
  return best;
}

}  // namespace penstock::sim
