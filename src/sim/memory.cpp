#include "memory.hpp"

#include <algorithm>
#include <limits>

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

/// Start of the first message each compute task waits for; its own start when there is none.
std::vector<std::int64_t> first_arrivals(const TaskGraph& graph, const Times& times) {
  std::vector<std::int64_t> first = times.start;
  for (std::size_t t = 0; t < graph.tasks.size(); ++t)
    if (graph.tasks[t].kind == trace::TaskKind::transfer) {
      std::int64_t& arrival = first[static_cast<std::size_t>(graph.tasks[t].next)];
      arrival = std::min(arrival, times.start[t]);
    }
  return first;
}

/// Sums changes of one moment into one point.
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
  StageOnDevice(const cost::StageLoad& load, const cost::MemoryRule& rule, const StageTasks& stage,
                std::int32_t device, const Times& times, const std::vector<std::int64_t>& arrival)
      : stage_(stage), device_(device), times_(times), arrival_(arrival), transient_(rule.transient) {
    const std::int64_t samples = stage.share(device / stage.group);
    kept_ = (load.kept * samples + load.statistics).value() * rule.activation_copies;
    saved_ = load.saved.value() * rule.activation_copies * samples;
    entering_ = load.entering.value() * rule.activation_copies * samples;
    received_ = load.entering.value() * samples;
    gradients_ = load.leaving.value() * samples;
    deferred_ = load.deferred.at(samples).value();
  }

  void add_changes(std::vector<MemoryChange>& changes) const {
    for (std::size_t m = 0; m < stage_.forward.size(); ++m) {
      add_activations(m, changes);
      if (transient_) add_buffers(m, changes);
    }
  }

 private:
  std::size_t task(std::int32_t position) const {
    return static_cast<std::size_t>(stage_.at(position, device_));
  }
  std::int64_t start(std::int32_t position) const { return times_.start[task(position)]; }
  std::int64_t end(std::int32_t position) const { return times_.end[task(position)]; }

  /// A micro-batch that is recomputed keeps what is saved and what entered the stage alone until then.
  void add_activations(std::size_t m, std::vector<MemoryChange>& changes) const {
    const bool again = m < stage_.recompute.size() && stage_.recompute[m] >= 0;
    changes.push_back({start(stage_.forward[m].first), entering_ + saved_ + (again ? 0 : kept_), 0});
    if (again) changes.push_back({start(stage_.recompute[m]), kept_, 0});
    changes.push_back({end(stage_.release[m]), -entering_ - saved_ - kept_, 0});
  }
  void add_buffers(std::size_t m, std::vector<MemoryChange>& changes) const {
    const std::int32_t forward = stage_.forward[m].first;
    changes.push_back({arrival_[task(forward)], 0, received_});
    changes.push_back({start(forward), 0, -received_});
    changes.push_back({arrival_[task(stage_.backward[m].first)], 0, gradients_});
    changes.push_back({end(stage_.backward[m].last), 0, -gradients_});
    if (stage_.release[m] == stage_.backward[m].last) return;
    changes.push_back({end(stage_.backward[m].last), 0, deferred_});  // to the weight gradients' own pass
    changes.push_back({end(stage_.release[m]), 0, -deferred_});
  }

  const StageTasks& stage_;
  std::int32_t device_;
  const Times& times_;
  const std::vector<std::int64_t>& arrival_;
  bool transient_;
  std::int64_t kept_, saved_, entering_, received_, gradients_, deferred_;  ///< bytes per micro-batch
};

plan::MemoryByKind fixed_memory(const cost::Problem& problem, const plan::Stage& stage,
                                const cost::StageLoad& load, std::int64_t samples) {
  auto memory =
      cost::stage_memory(load, problem.memory, problem.training, samples, 0, {}, cost::zero_of(stage));
  at(memory, MemoryKind::buffers) = core::Bytes(0);  // counted as they come and go
  return memory;
}

/// Stages of one device run one at a time and share their workspace; all else adds up.
void add_fixed(plan::MemoryByKind& sum, const plan::MemoryByKind& stage) {
  const core::Bytes workspace = std::max(at(sum, MemoryKind::workspace), at(stage, MemoryKind::workspace));
  for (std::size_t k = 0; k < plan::kMemoryKinds; ++k) sum[k] += stage[k];
  at(sum, MemoryKind::workspace) = workspace;
}

}  // namespace

std::vector<trace::DeviceTrace> device_memory(const cost::Problem& problem, const plan::Plan& plan,
                                              const Iteration& iteration, const Times& times) {
  std::vector<trace::DeviceTrace> devices(problem.cluster.size());
  std::vector<std::vector<StageOnDevice>> stages(devices.size());
  const auto arrival = first_arrivals(iteration.graph, times);
  const auto copies = schedule::weight_copies(plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const StageTasks& tasks = iteration.stages[s];
    std::vector<cost::StageLoad> loads;  // by member of a group
    for (std::size_t m = 0; m < static_cast<std::size_t>(tasks.group); ++m)
      loads.push_back(cost::stage_load(problem, stage, m));
    for (std::int32_t d = 0; d < tasks.devices; ++d) {
      const core::DeviceId id = stage.devices[static_cast<std::size_t>(d)];
      const cost::StageLoad& load = loads[static_cast<std::size_t>(d % tasks.group)];
      trace::DeviceTrace& device = devices[id.index()];
      device.stages.push_back(core::StageId(s));
      device.capacity = problem.cluster.type(id).memory;
      auto fixed = fixed_memory(problem, stage, load, tasks.share(d / tasks.group));
      at(fixed, MemoryKind::versions) = load.parameters * copies[s];
      add_fixed(device.fixed, fixed);
      stages[id.index()].emplace_back(load, problem.memory, tasks, d, times, arrival);
    }
  }
  for (std::size_t d = 0; d < devices.size(); ++d) {
    std::vector<MemoryChange> changes;  // of one device at a time, for they are many
    for (const StageOnDevice& stage : stages[d]) stage.add_changes(changes);
    devices[d].memory = accumulate(std::move(changes));
  }
  return devices;
}

}  // namespace penstock::sim
