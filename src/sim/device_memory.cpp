#include "device_memory.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "penstock/cost/retained_inputs.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/schedule/plan_order.hpp"

namespace penstock::sim {
namespace {

using plan::MemoryKind;

struct MemoryChange {
  std::int64_t time;
  std::int64_t activations;
  std::int64_t buffers;
};

/// Arrival of the inputs of one device's passes.
class InputArrivals {
 public:
  /// For a device of `stage`; `tasks` contain all messages to it.
  InputArrivals(const TaskGraph& graph, const TaskTimes& times, const StageTasks& stage,
                core::DeviceId device, std::span<const TaskId> tasks)
      : times_(times), stage_(stage) {
    for (const TaskId id : tasks) {
      const Task task = graph.task(id);
      if (task.kind == trace::TaskKind::transfer && graph.task(task.next).device() == device)
        note(position(task.next), times.start[static_cast<std::size_t>(id)]);
    }
  }
  /// Start of the first message that the pass waits for; its own start if there is none.
  std::int64_t of(TaskId pass) const {
    const std::size_t p = position(pass);
    const std::int64_t own = times_.start[static_cast<std::size_t>(pass)];
    return p < first_.size() ? std::min(first_[p], own) : own;
  }

 private:
  std::size_t position(TaskId pass) const {
    return static_cast<std::size_t>((pass - stage_.first) / stage_.devices());
  }
  void note(std::size_t position, std::int64_t start) {
    if (position >= first_.size()) first_.resize(position + 1, std::numeric_limits<std::int64_t>::max());
    first_[position] = std::min(first_[position], start);
  }

  const TaskTimes& times_;
  const StageTasks& stage_;
  std::vector<std::int64_t> first_;  ///< [position in the row of the device's rank]
};

/// Merges changes of one moment into one point.
std::vector<trace::MemoryPoint> accumulate(std::vector<MemoryChange> changes) {
  std::sort(changes.begin(), changes.end(),
            [](const MemoryChange& a, const MemoryChange& b) { return a.time < b.time; });
  std::vector<trace::MemoryPoint> points(1);
  for (const MemoryChange& change : changes) {
    if (points.back().time.value() != change.time) {
      points.push_back(points.back());
      points.back().time = core::Picoseconds(change.time);
    }
    points.back().activations += core::Bytes(change.activations);
    points.back().buffers += core::Bytes(change.buffers);
  }
  points.shrink_to_fit();
  return points;
}

/// One stage on one of its devices.
class StageOnDevice {
 public:
  StageOnDevice(const cost::StageLoad& load, const cost::MemoryRule& rule, const plan::Recomputation& again,
                const StageTasks& stage, std::int32_t device, const TaskTimes& times,
                const InputArrivals& arrivals)
      : again_(again),
        stage_(stage),
        device_(device),
        times_(times),
        arrivals_(arrivals),
        transient_(rule.transient) {
    const std::int64_t samples = stage.sharing.size(device / stage.sharing.group);
    activations_ = (load.activations * samples + load.statistics).value() * rule.activation_copies;
    saved_ = load.saved.value() * rule.activation_copies * samples;
    inputs_ = load.inputs.value() * rule.activation_copies * samples;
    received_ = load.inputs.value() * samples;
    gradients_ = load.outputs.value() * samples;
    deferred_ = load.deferred.at(samples).value();
    released_ = load.released.value() * rule.activation_copies * samples;
  }

  void add_changes(std::vector<MemoryChange>& changes) const {
    for (std::size_t m = 0; m < stage_.forward.size(); ++m) {
      add_activations(m, changes);
      if (transient_) add_buffers(m, changes);
    }
  }

 private:
  std::size_t task(TaskId first) const {
    return static_cast<std::size_t>(first) + static_cast<std::size_t>(device_);
  }
  std::int64_t start(TaskId first) const { return times_.start[task(first)]; }
  std::int64_t end(TaskId first) const { return times_.end[task(first)]; }

  /// A recomputed micro-batch keeps only saved tensors and the stage's input until recomputation.
  void add_activations(std::size_t m, std::vector<MemoryChange>& changes) const {
    const bool again = m < stage_.recompute.size() && stage_.recompute[m] >= 0;
    changes.push_back({start(stage_.forward[m].first), inputs_ + saved_ + (again ? 0 : activations_), 0});
    if (again) changes.push_back({start(stage_.recompute[m]), activations_, 0});
    changes.push_back({end(passing() ? stage_.backward[m].last : stage_.release[m]), -activations_, 0});
    const std::int64_t early = splits(m) ? released_ : 0;
    if (early != 0) changes.push_back({end(stage_.backward[m].last), -early, 0});
    changes.push_back({end(stage_.release[m]), early - inputs_ - saved_, 0});
  }
  void add_buffers(std::size_t m, std::vector<MemoryChange>& changes) const {
    const TaskId forward = stage_.forward[m].first;
    changes.push_back({arrivals_.of(forward + device_), 0, received_});
    changes.push_back({start(forward), 0, -received_});
    changes.push_back({arrivals_.of(stage_.backward[m].first + device_), 0, gradients_});
    changes.push_back({end(stage_.backward[m].last), 0, -gradients_});
    if (!splits(m)) return;
    // Held until the pass of the weight gradients. Recomputed layers hold theirs; cores are freed.
    changes.push_back({passing() ? start(stage_.recompute[m]) : end(stage_.backward[m].last), 0, deferred_});
    changes.push_back({end(stage_.release[m]), 0, -deferred_});
  }
  /// True if the weight gradients of a micro-batch have a pass of their own.
  bool splits(std::size_t m) const { return stage_.release[m] != stage_.backward[m].last; }
  /// True if recomputed tensors are freed with the input gradient.
  bool passing() const { return again_ && !again_.outlasts_input_gradient(); }

  const plan::Recomputation& again_;
  const StageTasks& stage_;
  std::int32_t device_;
  const TaskTimes& times_;
  const InputArrivals& arrivals_;
  bool transient_;
  std::int64_t activations_, saved_, inputs_, received_, gradients_, deferred_,
      released_;  ///< bytes per micro-batch
};

plan::MemoryByKind fixed_memory(const cost::Problem& problem, const plan::Stage& stage,
                                const cost::StageLoad& load, std::int64_t samples) {
  auto memory = cost::stage_memory(load, problem.memory, problem.training, samples, 0, {},
                                   plan::replica_placement(stage));
  at(memory, MemoryKind::buffers) = core::Bytes(0);  // counted over time
  at(memory, MemoryKind::activations) += cost::retained_inputs(problem, stage, load, samples);
  return memory;
}

/// Adds a stage. Stages of one device run one at a time and share their workspace, and a framework's buckets;
/// everything else adds up.
void add_fixed(plan::MemoryByKind& sum, const plan::MemoryByKind& stage) {
  for (std::size_t k = 0; k < plan::kMemoryKinds; ++k) {
    const auto kind = static_cast<MemoryKind>(k);
    const bool shared = kind == MemoryKind::workspace || kind == MemoryKind::buckets;
    sum[k] = shared ? std::max(sum[k], stage[k]) : sum[k] + stage[k];
  }
}

}  // namespace

DeviceMemory::DeviceMemory(const cost::Problem& problem, const plan::Plan& plan,
                           const IterationTasks& iteration, const TaskTimes& times)
    : problem_(problem),
      plan_(plan),
      iteration_(iteration),
      times_(times),
      places_(problem.cluster.size()),
      copies_(schedule::weight_copies(plan)) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StageTasks& tasks = iteration.stages[s];
    loads_.emplace_back();
    for (std::size_t m = 0; m < static_cast<std::size_t>(plan.stages[s].tensor_parallel); ++m)
      loads_[s].push_back(cost::stage_load(problem, plan.stages[s], m));
    for (std::int32_t d = 0; d < tasks.devices(); ++d)
      places_[plan.stages[s].devices[static_cast<std::size_t>(d)].index()].push_back({s, d});
  }
}

trace::DeviceTrace DeviceMemory::of(core::DeviceId device, std::span<const TaskId> tasks) const {
  trace::DeviceTrace out;
  const std::vector<StagePlace>& places = places_[device.index()];
  out.memory = accumulate({});
  if (places.empty()) return out;
  out.capacity = problem_.cluster.type(device).memory;
  const InputArrivals arrivals(iteration_.graph, times_, iteration_.stages[places.front().stage], device,
                               tasks);
  std::vector<MemoryChange> changes;
  for (const auto& [s, index] : places) {
    const StageTasks& stage = iteration_.stages[s];
    const cost::StageLoad& load =
        loads_[s][static_cast<std::size_t>(index % plan_.stages[s].tensor_parallel)];
    out.stages.push_back(core::StageId(s));
    auto fixed =
        fixed_memory(problem_, plan_.stages[s], load, stage.sharing.size(index / stage.sharing.group));
    at(fixed, MemoryKind::versions) = load.parameters * copies_[s];
    out.step += std::exchange(at(fixed, MemoryKind::step), core::Bytes(0));
    add_fixed(out.fixed, fixed);
    StageOnDevice(load, problem_.memory, plan_.stages[s].recompute, stage, index, times_, arrivals)
        .add_changes(changes);
  }
  out.memory = accumulate(std::move(changes));
  return out;
}

}  // namespace penstock::sim
