#include "run/sequential.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <queue>
#include <span>
#include <tuple>

#include "groups/groups.hpp"
#include "groups/relay.hpp"
#include "links/flows.hpp"
#include "links/reductions.hpp"
#include "links/ring.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/shared_reduction.hpp"
#include "words.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {
namespace {

using core::DeviceId;
using core::Seconds;
using schedule::ActionKind;

/// End of an instruction or a sum.
struct EndEvent {
  Seconds time;
  bool is_sum = false;
  std::size_t index = 0;  ///< device, or index of the reduction
  friend bool operator>(const EndEvent& a, const EndEvent& b) {
    return std::tie(a.time, a.is_sum, a.index) > std::tie(b.time, b.is_sum, b.index);
  }
};

/// Runs task() and adds the name of the instruction to its failure.
template <class Task>
auto attempt(std::size_t device, const DeviceInstruction& instruction, const Task& task) {
  try {
    return task();
  } catch (...) {
    std::rethrow_exception(told(task_name(DeviceId(device), instruction)));
  }
}

/// Tensor-parallel groups, whose devices take turns.
struct GroupRelays {
  GroupRelays(const plan::Plan& plan, const std::vector<Worker*>& workers, const Stopwatch& stopwatch)
      : groups(plan) {
    for (const auto& group : groups.list) {
      relays.push_back(std::make_unique<TaskRelay>(group.size(), stopwatch));
      for (std::size_t m = 0; m < group.size(); ++m)
        workers[group[m].index()]->join(relays.back()->member(m));
    }
  }
  PeerGroups groups;
  std::vector<std::unique_ptr<TaskRelay>> relays;  ///< [group]
};

class SequentialIteration {
 public:
  SequentialIteration(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                      const std::vector<Worker*>& workers, const ReductionList& reductions,
                      GroupRelays& teams, const Stopwatch& stopwatch, core::StopToken stop,
                      std::vector<DevicePeak>& peaks, std::vector<std::vector<float>>& room)
      : program_(program),
        problem_(problem),
        plan_(plan),
        workers_(workers),
        reductions_(reductions),
        teams_(teams),
        stopwatch_(stopwatch),
        stop_(stop),
        peaks_(peaks),
        room_(room),
        flows_(problem.cluster),
        record_(program),
        devices_(program.devices.size()),
        messages_(program.messages.size()),
        sums_(reductions.list.size()),
        in_sum_(program.devices.size(), -1) {
    for (const auto& instructions : program.devices) alive_ += !instructions.empty();
  }

  IterationRecord run() {
    for (std::size_t d = 0; d < devices_.size(); ++d)
      for (const MessageId id : program_.open_at_start[d]) open(id);
    for (;;) {
      for (std::size_t d = 0; d < devices_.size(); ++d) start_if_ready(d);
      if (!next_event()) break;
    }
    for (std::size_t d = 0; d < devices_.size(); ++d)
      if (devices_[d].next < program_.devices[d].size()) stuck(d);
    return std::move(record_);
  }

 private:
  struct DeviceState {
    std::size_t next = 0;
    bool busy = false;
    bool at_barrier = false;
    int barriers = 0;  ///< number passed
  };
  struct MessageState {
    bool sent = false, opened = false, arrived = false;
    std::vector<BufferRegion> from;
  };
  struct ReductionState {
    std::vector<std::pair<DeviceId, std::vector<std::vector<BufferRegion>>>>
        gradients;  ///< terms of the replicas that have arrived
    bool done = false;
    Seconds start;
  };

  const DeviceMessage& message(MessageId id) const { return program_.messages[static_cast<std::size_t>(id)]; }
  MessageState& travel(MessageId id) { return messages_[static_cast<std::size_t>(id)]; }

  // Instructions of devices.

  void start_if_ready(std::size_t d) {
    const DeviceState& device = devices_[d];
    if (device.busy || device.next == program_.devices[d].size()) return;
    const bool alone = teams_.groups.of(DeviceId(d)) < 0;
    if (alone || program_.devices[d][device.next].kind == ActionKind::barrier) {
      if (is_ready(d)) start(d);
    } else {
      start_team_if_ready(static_cast<std::size_t>(teams_.groups.of(DeviceId(d))));
    }
  }

  bool is_ready(std::size_t d) {
    DeviceState& device = devices_[d];
    if (device.busy || device.next == program_.devices[d].size()) return false;
    const DeviceInstruction& instruction = program_.devices[d][device.next];
    if (instruction.kind == ActionKind::barrier && !passes_barrier(device)) return false;
    if (instruction.kind == ActionKind::step && !summed(d, device.next)) return false;
    return std::ranges::all_of(instruction.receives, [&](MessageId id) { return travel(id).arrived; });
  }

  void start(std::size_t d) {
    stop_.check();
    const Seconds begin = stopwatch_();
    attempt(d, next(d), [&] { workers_[d]->run(next(d)); });
    const Seconds time = stopwatch_() - begin;
    const bool computes = next(d).kind != ActionKind::barrier && next(d).kind != ActionKind::reduce_gradient;
    note(d, computes ? std::max(time, Seconds(0)) : Seconds(0));
  }

  /// Starts the devices of a tensor-parallel group together.
  void start_team_if_ready(std::size_t g) {
    const auto& group = teams_.groups.list[g];
    const std::size_t position = devices_[group.front().index()].next;
    for (const DeviceId device : group)
      if (devices_[device.index()].next != position || !is_ready(device.index())) return;
    stop_.check();
    std::vector<std::function<void()>> tasks;
    for (const DeviceId device : group)
      tasks.emplace_back(
          [this, d = device.index()] { attempt(d, next(d), [&] { workers_[d]->run(next(d)); }); });
    const std::vector<Seconds> times = teams_.relays[g]->run(tasks);
    for (std::size_t m = 0; m < group.size(); ++m) {
      record_.collectives[group[m].index()][position] = teams_.relays[g]->collectives();
      note(group[m].index(), times[m]);
    }
  }

  const DeviceInstruction& next(std::size_t d) const { return program_.devices[d][devices_[d].next]; }

  /// Records that the next instruction has run.
  void note(std::size_t d, Seconds time) {
    DeviceState& device = devices_[d];
    note_memory(*workers_[d], device.next, record_.held[d][device.next], peaks_[d]);
    record_.instructions[d][device.next] = {now_, now_ + time};
    device.busy = true;
    ends_.push({now_ + time, false, d});
  }

  void end(std::size_t d) {
    DeviceState& device = devices_[d];
    const DeviceInstruction& instruction = program_.devices[d][device.next];
    attempt(d, instruction, [&] {
      for (const MessageId id : instruction.sends) send(id);
      for (const MessageId id : instruction.opens)
        if (message(id).sender != message(id).receiver) open(id);
      if (instruction.kind == ActionKind::reduce_gradient) join_sum(d, device.next);
    });
    device.busy = false;
    ++device.next;
  }

  /// All devices must reach their k-th barrier before one continues.
  bool passes_barrier(DeviceState& device) {
    if (!std::exchange(device.at_barrier, true)) ++at_barrier_;
    if (at_barrier_ < alive_ * (device.barriers + 1)) return false;
    device.at_barrier = false;
    ++device.barriers;
    return true;
  }

  // Messages between stages.

  void send(MessageId id) {
    const DeviceMessage& m = message(id);
    MessageState& own = travel(id);
    own.sent = true;
    if (m.bytes.value() == 0) {
      own.arrived = true;
      return;
    }
    own.from = workers_[m.sender.index()]->outgoing(m);
    if (m.sender == m.receiver) {
      move(m, own);
      own.arrived = true;
    } else if (own.opened) {
      depart(id);
    }
  }

  void open(MessageId id) {
    travel(id).opened = true;
    if (travel(id).sent) depart(id);
  }

  void depart(MessageId id) {
    const DeviceMessage& m = message(id);
    move(m, travel(id));
    record_.messages[static_cast<std::size_t>(id)].start = now_;
    flows_.start(static_cast<std::size_t>(id), m.sender, m.receiver, m.bytes, now_);
  }

  void move(const DeviceMessage& m, MessageState& travel) {
    Worker &sender = *workers_[m.sender.index()], &receiver = *workers_[m.receiver.index()];
    copy(travel.from, sender.backend(), receiver.incoming(m), receiver.backend());
    travel.from.clear();
  }

  // Sums of gradients among replicas.

  bool summed(std::size_t d, std::size_t position) const {
    const std::int32_t sum = reductions_.at[d][position];
    return sum < 0 || sums_[static_cast<std::size_t>(sum)].done;
  }

  void join_sum(std::size_t d, std::size_t position) {
    if (reductions_.at[d][position] < 0) return;
    const auto r = static_cast<std::size_t>(reductions_.at[d][position]);
    const GradientReduction& reduction = reductions_.list[r];
    sums_[r].gradients.emplace_back(DeviceId(d), terms(reduction, plan_, DeviceId(d), *workers_[d]));
    if (sums_[r].gradients.size() < reduction.devices.size()) return;
    waiting_.push_back(r);
    start_sums();
  }

  /// A device takes part in one sum at a time.
  void start_sums() {
    std::erase_if(waiting_, [&](std::size_t r) {
      const auto& devices = reductions_.list[r].devices;
      for (const DeviceId device : devices)
        if (in_sum_[device.index()] >= 0) return false;
      for (const DeviceId device : devices) in_sum_[device.index()] = static_cast<std::int32_t>(r);
      add_up(r);
      sums_[r].start = now_;
      ends_.push({now_ + time_of(reductions_.list[r]), true, r});
      return true;
    });
  }

  void add_up(std::size_t r) {
    auto& gradients = sums_[r].gradients;
    const auto& devices = reductions_.list[r].devices;
    const auto replica = [&](DeviceId id) { return std::find(devices.begin(), devices.end(), id); };
    std::sort(gradients.begin(), gradients.end(),
              [&](const auto& a, const auto& b) { return replica(a.first) < replica(b.first); });
    room_.resize(std::max(room_.size(), gradients.size()));
    const std::span room(room_.data(), gradients.size());
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gather(workers_[gradients[i].first.index()]->backend(), gradients[i].second, room[i]);
    ReductionRing::sum(room);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      for (const auto& regions : gradients[i].second)
        scatter(workers_[gradients[i].first.index()]->backend(), regions, room[i]);
    gradients.clear();
  }

  Seconds time_of(const GradientReduction& reduction) const {
    if (reduction.shared)
      return cost::time(problem_, cost::shared_reduction(problem_, plan_, *reduction.shared));
    const plan::Stage& stage = plan_.stages[reduction.stage.index()];
    const auto own = replay::summed(program_, problem_.graph, stage);
    Seconds time;
    for (const cost::GradientReduction& part : cost::reductions(problem_, stage, own))
      time += cost::time(problem_, part);
    return time;
  }

  void end_sum(std::size_t r) {
    const GradientReduction& reduction = reductions_.list[r];
    sums_[r].done = true;
    for (std::size_t i = 0; i < reduction.devices.size(); ++i) {
      const std::size_t d = reduction.devices[i].index();
      in_sum_[d] = -1;
      record_.reductions[d][reduction.position[i]] = {sums_[r].start, now_};
    }
    start_sums();
  }

  // The clock.

  /// Advances to the next time at which something ends; returns false if there is none.
  bool next_event() {
    const auto flow = flows_.next();
    if (ends_.empty() && !flow) return false;
    now_ = ends_.empty() ? *flow : flow ? std::min(*flow, ends_.top().time) : ends_.top().time;
    for (const std::size_t id : flows_.advance(now_)) {
      messages_[id].arrived = true;
      record_.messages[id].end = now_;
    }
    while (!ends_.empty() && ends_.top().time <= now_) {
      const EndEvent event = ends_.top();
      ends_.pop();
      event.is_sum ? end_sum(event.index) : end(event.index);
    }
    return true;
  }

  [[noreturn]] void stuck(std::size_t d) {
    const DeviceInstruction& instruction = program_.devices[d][devices_[d].next];
    std::string awaited = "others";
    for (const MessageId id : instruction.receives)
      if (!travel(id).arrived) awaited = name(message(id));
    throw core::Error(
        core::ExitCode::device_failed,
        fmt::format("{} waits for {}, which never comes", task_name(DeviceId(d), instruction), awaited));
  }

  const DevicePrograms& program_;
  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const std::vector<Worker*>& workers_;
  const ReductionList& reductions_;
  GroupRelays& teams_;
  const Stopwatch& stopwatch_;
  const core::StopToken stop_;
  std::vector<DevicePeak>& peaks_;
  std::vector<std::vector<float>>& room_;  ///< buffers for sums: allocating memory takes longer than the sums
  MessageFlows flows_;
  IterationRecord record_;
  Seconds now_{};
  std::priority_queue<EndEvent, std::vector<EndEvent>, std::greater<>> ends_;
  std::vector<DeviceState> devices_;
  std::vector<MessageState> messages_;
  std::vector<ReductionState> sums_;  ///< [reduction]
  std::vector<std::size_t> waiting_;  ///< reductions that all replicas have reached, in that order
  std::vector<std::int32_t> in_sum_;  ///< [device] current sum; -1: none
  int alive_ = 0, at_barrier_ = 0;
};

}  // namespace

Seconds steady_time() {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

ReplayRecords run_sequential(const DevicePrograms& program, const cost::Problem& problem,
                             const plan::Plan& plan, const std::vector<Worker*>& workers,
                             const ReplayOptions& options, const Stopwatch& stopwatch) {
  ReplayRecords out;
  out.peaks.resize(program.devices.size());
  const ReductionList reductions(program, problem.graph, plan);
  GroupRelays teams(plan, workers, stopwatch);
  std::vector<std::vector<float>> room;
  for (int i = 0; i < options.warm_up + options.iterations; ++i) {
    SequentialIteration iteration(program, problem, plan, workers, reductions, teams, stopwatch, options.stop,
                                  out.peaks, room);
    IterationRecord record = iteration.run();
    if (i >= options.warm_up) out.iterations.push_back(std::move(record));
  }
  return out;
}

}  // namespace penstock::replay
