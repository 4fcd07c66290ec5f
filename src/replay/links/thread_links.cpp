#include "links/thread_links.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "penstock/core/error.hpp"
#include "words.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {

ThreadLinks::ThreadLinks(Monitor& monitor, const cluster::Cluster& cluster,
                         std::vector<DeviceTransfer> transfers, bool throttle,
                         const std::function<bool(core::DeviceId)>& here,
                         std::function<std::string(std::size_t)> name)
    : monitor_(monitor),
      transfers_(std::move(transfers)),
      throttle_(throttle),
      name_(std::move(name)),
      flows_(cluster),
      state_(transfers_.size()),
      queues_(cluster.size()) {
  std::vector<bool> receives(queues_.size());
  for (const DeviceTransfer& transfer : transfers_)
    if (transfer.bytes.value() > 0 && here(transfer.sender) && here(transfer.receiver))
      receives[transfer.receiver.index()] = true;
  monitor_.on_tick([this](core::Seconds now) { return tick(now); });
  for (std::size_t d = 0; d < queues_.size(); ++d)
    if (receives[d]) carriers_.emplace_back([this, d] { serve(d); });
}

ThreadLinks::~ThreadLinks() {
  monitor_.change([&] { closed_ = true; });
  for (std::thread& carrier : carriers_) carrier.join();
}

void ThreadLinks::send(std::size_t transfer, Pieces from) {
  monitor_.change([&] {
    TransferState& state = state_[transfer];
    state.sent = true;
    state.from = std::move(from);
    if (transfers_[transfer].bytes.value() == 0)
      state.when.start = state.when.end = monitor_.now();
    else if (state.opened)
      depart(transfer);
  });
}

void ThreadLinks::open(std::size_t transfer, std::function<Pieces()> room) {
  monitor_.change([&] {
    TransferState& state = state_[transfer];
    state.opened = true;
    state.room = std::move(room);
    if (state.sent) depart(transfer);
  });
}

void ThreadLinks::wait(std::size_t transfer, const std::function<std::string()>& awaited) {
  monitor_.wait([&] { return state_[transfer].when.happened(); }, awaited);
}

void ThreadLinks::depart(std::size_t transfer) {
  start(transfer);
  queues_[transfers_[transfer].receiver.index()].push_back(transfer);
}

void ThreadLinks::start(std::size_t transfer) {
  const DeviceTransfer& of = transfers_[transfer];
  const core::Seconds now = monitor_.now();
  state_[transfer].when.start = now;
  if (throttle_)
    flows_.start(transfer, of.sender, of.receiver, of.bytes, now);
  else
    state_[transfer].flowed = true;
}

void ThreadLinks::leave(std::size_t transfer) {
  monitor_.change([&] { state_[transfer].when.start = monitor_.now(); });
}

Pieces ThreadLinks::expect(std::size_t transfer) {
  monitor_.change([&] { start(transfer); });
  return state_[transfer].to = std::exchange(state_[transfer].room, nullptr)();
}

void ThreadLinks::arrive(std::size_t transfer) {
  monitor_.change([&] {
    state_[transfer].copied = true;
    arrive_if_done(transfer, monitor_.now());
  });
}

void ThreadLinks::arrive_if_done(std::size_t transfer, core::Seconds now) {
  TransferState& state = state_[transfer];
  if (!state.copied || !state.flowed) return;
  state.when.end = now;
  state.from.clear();
  state.to.clear();
}

Monitor::TickResult ThreadLinks::tick(core::Seconds now) {
  const auto ended = flows_.advance(now);
  for (const std::size_t transfer : ended) {
    state_[transfer].flowed = true;
    arrive_if_done(transfer, now);
  }
  return {!ended.empty(), flows_.next()};
}

void ThreadLinks::serve(std::size_t device) {
  auto& queue = queues_[device];
  try {
    for (;;) {
      std::size_t transfer = transfers_.size();
      monitor_.idle([&] {
        if (queue.empty()) return closed_;
        transfer = queue.front();
        queue.pop_front();
        return true;
      });
      if (transfer == transfers_.size()) return;
      try {
        monitor_.work([&] { carry(transfer); });
      } catch (const EndSignal&) {
        throw;
      } catch (...) {
        monitor_.fail(told(name_(transfer)));
      }
    }
  } catch (const EndSignal&) {
  }
}

void ThreadLinks::carry(std::size_t transfer) {
  TransferState& state = state_[transfer];  // its pieces belong to this thread until they are copied
  state.to = std::exchange(state.room, nullptr)();
  copy(state.from, state.to);
  arrive(transfer);
}

void ThreadLinks::reset() {
  state_.assign(transfers_.size(), {});
}

}  // namespace penstock::replay
