#include "round_robin.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "penstock/graph/ties.hpp"
#include "penstock/kernels/values.hpp"
#include "penstock/kernels/wiring.hpp"
#include "worker/regions.hpp"

namespace penstock::replay::test {

using core::DeviceId;
using core::OpId;
using schedule::ActionKind;

namespace {

char* address(const BufferRegion& region) {
  return static_cast<char*>(region.buffer->data()) + region.offset.value();
}

/// Each list becomes the sum of all, added up in their order in fp32.
void sum_up(kernels::Backend& host, const std::vector<std::vector<BufferRegion>>& lists) {
  std::vector<float> sum(element_count(lists.front()));
  for (const auto& list : lists) {
    const std::vector<float> term = gather(host, list);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += term[k];
  }
  for (const auto& list : lists) scatter(host, list, sum);
}

/// Values that are there already must be equal, bit by bit.
void put(const Values& part, const TensorShard& shard, Values& whole) {
  const auto count = static_cast<std::int64_t>(whole.size());
  bool same = true;
  each_common(shard, {1, count, {{0, count}}}, [&](std::int64_t from, std::int64_t to, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      double& value = whole[static_cast<std::size_t>(to + i)];
      const double found = part[static_cast<std::size_t>(from + i)];
      same = same && (std::isnan(value) || value == found);
      value = found;
    }
  });
  REQUIRE(same);
}

}  // namespace

RoundRobin::RoundRobin(kernels::Backend& host, const cost::Problem& problem, const plan::Plan& plan,
                       const DevicePrograms& program, const TrainingSetup& setup)
    : host_(host), graph_(problem.graph), plan_(plan), program_(program), groups_(plan) {
  const auto wires = kernels::wire(graph_, setup.precision);
  for (std::size_t d = 0; d < program.devices.size(); ++d) {
    workers_.push_back(
        program.devices[d].empty() ? nullptr : make_worker(host, problem, plan, DeviceId(d), program, setup));
    divisions_.push_back(std::make_unique<OperatorDivision>(graph_, plan, DeviceId(d), wires));
  }
  for (const auto& group : groups_.list) {
    relays_.push_back(std::make_unique<TaskRelay>(group.size(), [] { return core::Seconds(0); }));
    for (std::size_t m = 0; m < group.size(); ++m)
      workers_[group[m].index()]->join(relays_.back()->member(m));
  }
}

void RoundRobin::run() {
  next_.assign(workers_.size(), 0);
  barriers_.assign(workers_.size(), 0);
  deliveries_.assign(program_.messages.size(), {});
  steps_.clear(), handed_in_.clear(), reductions_.clear(), reduced_.clear();
  shared_in_.assign(program_.shared.size(), 0);
  for (const auto& ids : program_.open_at_start)
    for (const MessageId id : ids) open(id);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t d = 0; d < workers_.size(); ++d)
      while (advance(d)) moved = true;
  }
  for (std::size_t d = 0; d < workers_.size(); ++d)
    REQUIRE_MESSAGE(next_[d] == program_.devices[d].size(), "device ", d, " is stuck");
}

bool RoundRobin::advance(std::size_t device) {
  const int group = groups_.of(DeviceId(device));
  const bool barrier = next_[device] < program_.devices[device].size() &&
                       program_.devices[device][next_[device]].kind == ActionKind::barrier;
  if (group >= 0 && !barrier)
    return advance_group(groups_.list[static_cast<std::size_t>(group)],
                         *relays_[static_cast<std::size_t>(group)]);
  if (!is_ready(device)) return false;
  begin(device);
  workers_[device]->run(program_.devices[device][next_[device]]);
  end(device);
  return true;
}

bool RoundRobin::advance_group(const std::vector<DeviceId>& group, TaskRelay& relay) {
  for (const DeviceId device : group)
    if (next_[device.index()] != next_[group.front().index()] || !is_ready(device.index())) return false;
  std::vector<std::function<void()>> tasks;
  for (const DeviceId device : group) {
    begin(device.index());
    const DeviceInstruction& instruction = program_.devices[device.index()][next_[device.index()]];
    tasks.emplace_back([this, device, &instruction] { workers_[device.index()]->run(instruction); });
  }
  relay.run(tasks);
  for (const DeviceId device : group) end(device.index());
  return true;
}

bool RoundRobin::is_ready(std::size_t device) {
  const auto& instructions = program_.devices[device];
  return next_[device] < instructions.size() && ready(device, instructions[next_[device]]);
}

void RoundRobin::begin(std::size_t device) {
  const DeviceInstruction& instruction = program_.devices[device][next_[device]];
  if (instruction.kind != ActionKind::step) return;
  ++steps_[instruction.stage][device];
  if (plan_.stages[instruction.stage.index()].devices[0].index() == device)
    read(instruction.stage, &DeviceWorker::gradients_of, gradients_);
}

void RoundRobin::end(std::size_t device) {
  const DeviceInstruction& instruction = program_.devices[device][next_[device]];
  if (instruction.shared >= 0)
    reduce_shared(static_cast<std::size_t>(instruction.shared));
  else if (instruction.kind == ActionKind::reduce_gradient)
    reduce(instruction, device);
  finish(instruction);
  ++next_[device];
}

bool RoundRobin::ready(std::size_t device, const DeviceInstruction& instruction) {
  if (instruction.kind == ActionKind::barrier) {
    const int mine = barriers_[device];
    for (std::size_t d = 0; d < workers_.size(); ++d) {
      const auto& row = program_.devices[d];
      const bool there = next_[d] < row.size() && row[next_[d]].kind == ActionKind::barrier;
      if (!row.empty() && barriers_[d] + there <= mine) return false;
    }
    ++barriers_[device];
  }
  const auto& stage = instruction.stage;
  if (instruction.kind == ActionKind::step && reduces(stage, device) &&
      reduced_[stage] <= steps_[stage][device])
    return false;
  if (instruction.kind == ActionKind::step && !shared_summed(stage)) return false;
  return std::ranges::all_of(instruction.receives,
                             [&](MessageId id) { return deliveries_[static_cast<std::size_t>(id)].arrived; });
}

void RoundRobin::finish(const DeviceInstruction& instruction) {
  for (const MessageId id : instruction.sends) {
    const DeviceMessage& message = program_.messages[static_cast<std::size_t>(id)];
    PendingDelivery& delivery = deliveries_[static_cast<std::size_t>(id)];
    delivery.sent = true;
    if (message.bytes.value() == 0)
      delivery.arrived = true;
    else
      delivery.from = workers_[message.sender.index()]->outgoing(message);
    deliver(delivery);
  }
  for (const MessageId id : instruction.opens) open(id);
}

void RoundRobin::open(MessageId id) {
  const DeviceMessage& message = program_.messages[static_cast<std::size_t>(id)];
  PendingDelivery& delivery = deliveries_[static_cast<std::size_t>(id)];
  delivery.to = workers_[message.receiver.index()]->incoming(message);
  deliver(delivery);
}

void RoundRobin::deliver(PendingDelivery& delivery) {
  if (!delivery.sent || delivery.arrived || delivery.to.empty()) return;
  REQUIRE(delivery.from.size() == delivery.to.size());
  for (std::size_t i = 0; i < delivery.from.size(); ++i) {
    REQUIRE(delivery.from[i].bytes == delivery.to[i].bytes);
    std::memcpy(address(delivery.to[i]), address(delivery.from[i]),
                static_cast<std::size_t>(delivery.from[i].bytes.value()));
  }
  delivery = {true, true, {}, {}};
}

/// Summed in the order of the replicas once the last one has handed in its part.
void RoundRobin::reduce(const DeviceInstruction& instruction, std::size_t device) {
  const plan::Stage& stage = plan_.stages[instruction.stage.index()];
  if (stage.weight_replicas() == 1) return;
  auto& waiting = reductions_[instruction.stage];
  const auto place =
      static_cast<std::size_t>(handed_in_[instruction.stage][device]++ - reduced_[instruction.stage]);
  if (waiting.size() <= place) waiting.resize(place + 1);
  const auto replica =
      static_cast<std::size_t>(std::ranges::find(stage.devices, DeviceId(device)) - stage.devices.begin());
  auto& parts = waiting[place].parts;
  parts.resize(stage.devices.size());
  parts[replica] = workers_[device]->gradients(instruction.stage);
  if (std::ranges::any_of(parts, [](const auto& part) { return part.empty(); })) return;
  const auto members = static_cast<std::size_t>(stage.tensor_parallel);
  for (std::size_t m = 0; m < members; ++m) {
    std::vector<std::vector<BufferRegion>> copies;
    for (std::size_t d = m; d < parts.size(); d += members) copies.push_back(parts[d]);
    sum_up(host_, copies);
  }
  waiting.pop_front();
  ++reduced_[instruction.stage];
}

bool RoundRobin::reduces(core::StageId stage, std::size_t device) const {
  return plan_.stages[stage.index()].weight_replicas() > 1 &&
         std::ranges::any_of(program_.devices[device], [&](const DeviceInstruction& i) {
           return i.stage == stage && i.kind == ActionKind::reduce_gradient && i.shared < 0;
         });
}

bool RoundRobin::shared_summed(core::StageId stage) const {
  for (std::size_t k = 0; k < program_.shared.size(); ++k)
    if (std::ranges::count(program_.shared[k].stages, stage) > 0 &&
        shared_in_[k] < plan::devices(program_.shared[k], plan_).size())
      return false;
  return true;
}

/// Over every copy, in groups of every part, in the order of stages and their devices, once the last device
/// has come.
void RoundRobin::reduce_shared(std::size_t which) {
  const plan::SharedParameters& shared = program_.shared[which];
  if (++shared_in_[which] < plan::devices(shared, plan_).size()) return;
  const auto members = static_cast<std::size_t>(plan_.stages[shared.stages.front().index()].tensor_parallel);
  for (std::size_t m = 0; m < members; ++m) {
    std::vector<std::vector<BufferRegion>> parts;
    for (const core::StageId stage : shared.stages) {
      const auto& devices = plan_.stages[stage.index()].devices;
      for (std::size_t d = m; d < devices.size(); d += members)
        parts.push_back(workers_[devices[d].index()]->shared_gradients(stage, shared.owners));
    }
    sum_up(host_, parts);
  }
}

Weights RoundRobin::weights() const {
  Weights out;
  for (std::size_t s = 0; s < plan_.stages.size(); ++s)
    read(core::StageId(s), &DeviceWorker::weights_of, out);
  for (const plan::Stage& stage : plan_.stages)
    for (const OpId op : stage.operators)
      if (const OpId owner = graph_.owner(op); owner != op) compare_copies(stage, op, owner);
  return out;
}

/// Devices that have all of the operator's weights between them.
std::size_t RoundRobin::parts(const plan::Stage& stage, OpId op) const {
  const bool dispatched = divisions_[stage.devices[0].index()]->shard(op).dispatches;
  return static_cast<std::size_t>(dispatched ? stage.expert_parallel : stage.tensor_parallel);
}

/// Every device of the first group has its part, or the same as the others.
void RoundRobin::read(core::StageId id, Read which, Weights& out) const {
  const plan::Stage& stage = plan_.stages[id.index()];
  for (const OpId op : stage.operators) {
    const bool frozen = graph_.op(op).frozen_parameters > 0;
    if (graph_.op(op).parameters == 0 && !(frozen && which == &DeviceWorker::weights_of)) continue;
    out[op].clear();
    for (std::size_t m = 0; m < parts(stage, op); ++m) {
      const std::size_t device = stage.devices[m].index();
      const auto buffers = (*workers_[device].*which)(op);
      const OperatorShard& part = divisions_[device]->shard(op);
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        const std::int64_t count = divisions_[device]->weights(part.parameters[i].owner).whole.count();
        if (out[op].size() <= i) out[op].emplace_back(static_cast<std::size_t>(count), std::nan(""));
        put(read_values(host_, *buffers[i]), part.shardings[i].shard(m, 1, count), out[op][i]);
      }
    }
    // Gradients of other replicas may have been used already.
    if (which == &DeviceWorker::weights_of) compare_replicas(stage, op);
  }
}

/// Every device has what the one of its number has in the owner's stage.
void RoundRobin::compare_copies(const plan::Stage& stage, OpId op, OpId owner) const {
  const auto home = std::ranges::find_if(plan_.stages, [&](const plan::Stage& other) {
    return std::ranges::binary_search(other.operators, owner);
  });
  const auto members = static_cast<std::size_t>(stage.tensor_parallel);
  for (std::size_t d = 0; d < stage.devices.size(); ++d)
    REQUIRE(read_values(host_, *workers_[stage.devices[d].index()]->weights_of(op)[0]) ==
            read_values(host_, *workers_[home->devices[d % members].index()]->weights_of(owner)[0]));
}

void RoundRobin::compare_replicas(const plan::Stage& stage, OpId op) const {
  const std::size_t members = parts(stage, op);
  for (std::size_t d = members; d < stage.devices.size(); ++d) {
    const auto first = workers_[stage.devices[d % members].index()]->weights_of(op),
               twin = workers_[stage.devices[d].index()]->weights_of(op);
    for (std::size_t i = 0; i < first.size(); ++i)
      REQUIRE(std::memcmp(first[i]->data(), twin[i]->data(),
                          static_cast<std::size_t>(first[i]->bytes().value())) == 0);
  }
}

}  // namespace penstock::replay::test
