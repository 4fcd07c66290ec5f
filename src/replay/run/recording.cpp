#include "run/recording.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {

using core::DeviceId;
using schedule::ActionKind;

StreamRecording::StreamRecording(const DevicePrograms& program, const graph::OpGraph& graph,
                                 const plan::Plan& plan, const std::vector<DeviceWorker*>& workers)
    : program_(program),
      workers_(workers),
      reductions_(program, graph, plan),
      devices_(program.devices.size()),
      sums_(reductions_.list.size()) {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (!works(d)) continue;
    devices_[d].arrivals = worker(d).backend().make_stream();
    ++alive_;
  }
  for (std::size_t r = 0; r < sums_.size(); ++r) {
    const std::size_t replicas = reductions_.list[r].devices.size();
    sums_[r].values.resize(replicas);
    sums_[r].rooms.resize(replicas);
  }
}

template <class Use>
void StreamRecording::each_stream(const Use& use) {
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (works(d)) use(worker(d).stream()), use(*devices_[d].arrivals);
  for (ReductionState& sum : sums_)
    for (const auto& values : sum.values)
      if (values != nullptr) use(values->stream());
}

void StreamRecording::put(kernels::Stream& origin) {
  begin(origin);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t d = 0; d < devices_.size(); ++d)
      for (; works(d) && devices_[d].next < program_.devices[d].size() && ready(d); moved = true) perform(d);
  }
  for (std::size_t d = 0; d < devices_.size(); ++d)
    core::require(devices_[d].next == program_.devices[d].size(), "a program that has run comes to its end");
  each_stream([&](kernels::Stream& stream) { origin.wait(*stream.record_event()); });
  messages_.clear();
}

/// Resets everything. Accumulators created later begin by waiting for their terms.
void StreamRecording::begin(kernels::Stream& origin) {
  messages_.assign(program_.messages.size(), {});
  for (DeviceState& device : devices_) device.next = 0, device.at_barrier = false;
  for (std::size_t r = 0; r < sums_.size(); ++r) {
    const std::size_t replicas = reductions_.list[r].devices.size();
    sums_[r].regions.assign(replicas, {});
    sums_[r].done.assign(replicas, nullptr);
    sums_[r].come = 0;
  }
  waiting_ = 0;
  const Event start = origin.record_event();
  each_stream([&](kernels::Stream& stream) { stream.wait(*start); });
  for (std::size_t d = 0; d < devices_.size(); ++d)
    for (const MessageId id : program_.open_at_start[d]) open(id, start);
}

bool StreamRecording::ready(std::size_t d) {
  const std::size_t position = devices_[d].next;
  const DeviceInstruction& instruction = program_.devices[d][position];
  const std::int32_t sum = reductions_.at[d][position];
  if (instruction.kind == ActionKind::step && sum >= 0 &&
      sums_[static_cast<std::size_t>(sum)].done[0] == nullptr)
    return false;
  for (const MessageId id : instruction.receives)
    if (message(id).sender != message(id).receiver && travel(id).arrived == nullptr) return false;
  return instruction.kind != ActionKind::barrier || passes_barrier(d);
}

/// The last device to arrive makes all wait for all.
bool StreamRecording::passes_barrier(std::size_t d) {
  if (!std::exchange(devices_[d].at_barrier, true)) ++waiting_;
  if (waiting_ < alive_) return false;
  std::vector<Event> events;
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (works(i)) events.push_back(worker(i).stream().record_event());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (!works(i)) continue;
    for (const Event& event : events) worker(i).stream().wait(*event);
    if (i != d) ++devices_[i].next;  // the barrier itself does nothing else
    devices_[i].at_barrier = false;
  }
  waiting_ = 0;
  return true;
}

void StreamRecording::perform(std::size_t d) {
  const std::size_t position = devices_[d].next++;
  const DeviceInstruction& instruction = program_.devices[d][position];
  kernels::Stream& stream = worker(d).stream();
  for (const MessageId id : instruction.receives)
    if (message(id).sender != message(id).receiver) stream.wait(*travel(id).arrived);
  const std::int32_t sum = reductions_.at[d][position];
  if (instruction.kind == ActionKind::step && sum >= 0) {
    const auto r = static_cast<std::size_t>(sum);
    const auto& devices = reductions_.list[r].devices;
    stream.wait(
        *sums_[r].done[static_cast<std::size_t>(std::ranges::find(devices, DeviceId(d)) - devices.begin())]);
  }
  worker(d).put(instruction);
  const Event when = stream.record_event();
  for (const MessageId id : instruction.sends) send(d, id, when);
  for (const MessageId id : instruction.opens)
    if (message(id).sender != message(id).receiver) open(id, when);
  if (instruction.kind == ActionKind::reduce_gradient) join(d, static_cast<std::size_t>(sum), when);
}

void StreamRecording::send(std::size_t d, MessageId id, const Event& when) {
  const DeviceMessage& m = message(id);
  MessageState& own = travel(id);
  own.sent = when;
  if (m.bytes.value() == 0) {
    own.arrived = when;
    return;
  }
  own.from = pieces(worker(d).outgoing(m));
  if (m.sender == m.receiver)
    put_copies(worker(d).backend(), own.from, pieces(worker(d).incoming(m)), worker(d).stream());
  else if (own.opened != nullptr)
    move(id);
}

void StreamRecording::open(MessageId id, const Event& when) {
  travel(id).opened = when;
  if (travel(id).sent != nullptr) move(id);
}

void StreamRecording::move(MessageId id) {
  const DeviceMessage& m = message(id);
  if (m.bytes.value() == 0) return;
  MessageState& own = travel(id);
  const std::size_t to = m.receiver.index();
  kernels::Stream& arrivals = *devices_[to].arrivals;
  arrivals.wait(*own.sent);
  arrivals.wait(*own.opened);
  put_copies(worker(to).backend(), own.from, pieces(worker(to).incoming(m)), arrivals);
  own.arrived = arrivals.record_event();
}

void StreamRecording::join(std::size_t d, std::size_t r, const Event& when) {
  const GradientReduction& reduction = reductions_.list[r];
  const auto member =
      static_cast<std::size_t>(std::ranges::find(reduction.devices, DeviceId(d)) - reduction.devices.begin());
  ReductionState& sum = sums_[r];
  sum.regions[member] = worker(d).gradients(reduction.stage);
  if (sum.values[member] == nullptr) {
    for (const BufferRegion& region : sum.regions[member])
      if (region.buffer->element() != kernels::Element::fp32)
        throw core::BadInput("an iteration is a graph where gradients that replicas sum are in fp32");
    const std::size_t size = element_count(sum.regions[member]);
    const ReductionRing ring(reduction.devices.size(), reduction.bytes, 0, false);
    sum.values[member] = std::make_unique<DeviceAccumulator>(worker(d).backend(), nullptr, size);
    sum.rooms[member] =
        std::make_unique<DeviceAccumulator>(worker(d).backend(), nullptr, ring.largest_part(size));
  }
  sum.values[member]->stream().wait(*when);
  if (++sum.come == reduction.devices.size()) add_up(r);
}

void StreamRecording::add_up(std::size_t r) {
  ReductionState& sum = sums_[r];
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i]->put_taken(sum.regions[i]);
  ReductionRing::put(sum.values, sum.rooms);
  for (std::size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i]->put_given(sum.regions[i]);
    sum.done[i] = sum.values[i]->stream().record_event();
  }
}

}  // namespace penstock::replay
