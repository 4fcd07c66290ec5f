#include "thread_links.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "penstock/core/error.hpp"
#include "regions.hpp"
#include "words.hpp"

namespace penstock::replay {

ThreadLinks::ThreadLinks(Monitor& monitor, const cluster::Cluster& cluster, std::vector<Parcel> parcels,
                         bool throttle, const std::function<bool(core::DeviceId)>& here,
                         std::function<std::string(std::size_t)> name)
    : monitor_(monitor),
      parcels_(std::move(parcels)),
      throttle_(throttle),
      name_(std::move(name)),
      flows_(cluster),
      state_(parcels_.size()),
      queues_(cluster.size()) {
  std::vector<bool> receives(queues_.size());
  for (const Parcel& parcel : parcels_)
    if (parcel.bytes.value() > 0 && here(parcel.sender) && here(parcel.receiver))
      receives[parcel.receiver.index()] = true;
  monitor_.on_tick([this](core::Seconds now) { return tick(now); });
  for (std::size_t d = 0; d < queues_.size(); ++d)
    if (receives[d]) carriers_.emplace_back([this, d] { serve(d); });
}

ThreadLinks::~ThreadLinks() {
  monitor_.change([&] { closed_ = true; });
  for (std::thread& carrier : carriers_) carrier.join();
}

void ThreadLinks::send(std::size_t parcel, Pieces from) {
  monitor_.change([&] {
    State& state = state_[parcel];
    state.sent = true;
    state.from = std::move(from);
    if (parcels_[parcel].bytes.value() == 0)
      state.when.start = state.when.end = monitor_.now();
    else if (state.opened)
      depart(parcel);
  });
}

void ThreadLinks::open(std::size_t parcel, std::function<Pieces()> room) {
  monitor_.change([&] {
    State& state = state_[parcel];
    state.opened = true;
    state.room = std::move(room);
    if (state.sent) depart(parcel);
  });
}

void ThreadLinks::wait(std::size_t parcel, const std::function<std::string()>& awaited) {
  monitor_.wait([&] { return state_[parcel].when.happened(); }, awaited);
}

void ThreadLinks::depart(std::size_t parcel) {
  start(parcel);
  queues_[parcels_[parcel].receiver.index()].push_back(parcel);
}

void ThreadLinks::start(std::size_t parcel) {
  const Parcel& of = parcels_[parcel];
  const core::Seconds now = monitor_.now();
  state_[parcel].when.start = now;
  if (throttle_)
    flows_.start(parcel, of.sender, of.receiver, of.bytes, now);
  else
    state_[parcel].flowed = true;
}

void ThreadLinks::leave(std::size_t parcel) {
  monitor_.change([&] { state_[parcel].when.start = monitor_.now(); });
}

Pieces ThreadLinks::expect(std::size_t parcel) {
  monitor_.change([&] { start(parcel); });
  return state_[parcel].to = std::exchange(state_[parcel].room, nullptr)();
}

void ThreadLinks::arrive(std::size_t parcel) {
  monitor_.change([&] {
    state_[parcel].copied = true;
    arrive_if_done(parcel, monitor_.now());
  });
}

void ThreadLinks::arrive_if_done(std::size_t parcel, core::Seconds now) {
  State& state = state_[parcel];
  if (!state.copied || !state.flowed) return;
  state.when.end = now;
  state.from.clear();
  state.to.clear();
}

Monitor::Tick ThreadLinks::tick(core::Seconds now) {
  const auto ended = flows_.advance(now);
  for (const std::size_t parcel : ended) {
    state_[parcel].flowed = true;
    arrive_if_done(parcel, now);
  }
  return {!ended.empty(), flows_.next()};
}

void ThreadLinks::serve(std::size_t device) {
  auto& queue = queues_[device];
  try {
    for (;;) {
      std::size_t parcel = parcels_.size();
      monitor_.idle([&] {
        if (queue.empty()) return closed_;
        parcel = queue.front();
        queue.pop_front();
        return true;
      });
      if (parcel == parcels_.size()) return;
      try {
        monitor_.work([&] { carry(parcel); });
      } catch (const Ended&) {
        throw;
      } catch (...) {
        monitor_.fail(told(name_(parcel)));
      }
    }
  } catch (const Ended&) {
  }
}

void ThreadLinks::carry(std::size_t parcel) {
  State& state = state_[parcel];  // its pieces are this thread's until they are copied
  state.to = std::exchange(state.room, nullptr)();
  copy(state.from, state.to);
  arrive(parcel);
}

void ThreadLinks::reset() {
  state_.assign(parcels_.size(), {});
}

}  // namespace penstock::replay
