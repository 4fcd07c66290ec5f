#include "run_by_device.hpp"

#include <algorithm>
#include <optional>

#include "penstock/plan/mesh.hpp"
#include "penstock/plan/replica_placement.hpp"
#include "tasks/prepare.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::Picoseconds;
using core::StageId;
using trace::TaskKind;

/// Time that whole passes spend on collectives.
Picoseconds collective_time(const cost::OpTime& time, TaskKind kind) {
  if (kind == TaskKind::forward) return to_picoseconds(time.forward);
  if (kind == TaskKind::recompute) return to_picoseconds(time.recompute);
  if (kind == TaskKind::backward) return to_picoseconds(time.backward());
  if (kind == TaskKind::input_gradient) return to_picoseconds(time.input_gradient);
  return kind == TaskKind::weight_gradient ? to_picoseconds(time.weight_gradient) : Picoseconds();
}

bool has_collectives(const plan::Plan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(), [](const plan::Stage& stage) {
    return stage.replica_size() > 1 || stage.expert_parallel > 1 ||
           plan::replica_placement(stage).shards_gradients();
  });
}

/// [stage][device]
std::vector<std::vector<std::size_t>> replicas(const plan::Plan& plan) {
  std::vector<std::vector<std::size_t>> out(plan.stages.size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const plan::Mesh mesh(stage);
    for (std::size_t i = 0; i < stage.devices.size(); ++i) {
      out[s].resize(std::max(out[s].size(), stage.devices[i].index() + 1));
      out[s][stage.devices[i].index()] = mesh.coordinate(i, plan::MeshDim::data);
    }
  }
  return out;
}

bool is_shared(const Task& task) {
  return task.kind == TaskKind::all_reduce && task.micro_batch >= 0;
}

/// True for pieces of one pass that was cut at its buckets or its collectives.
bool same_pass(const trace::Span& a, const trace::Span& b) {
  return a.kind == b.kind && a.stage == b.stage && a.micro_batch == b.micro_batch && a.kind != TaskKind::step;
}

}  // namespace

RunByDevice::RunByDevice(const cost::Problem& problem, const plan::Plan& plan,
                         const IterationTasks& iteration, const TaskTimes& times)
    : plan_(plan),
      iteration_(iteration),
      times_(times),
      memory_(problem, plan, iteration, times),
      start_(problem.cluster.size() + 1) {
  for (const auto& shared : plan::shared_parameters(problem.graph, plan))
    shared_.push_back(plan::devices(shared, plan));
  if (has_collectives(plan)) replica_ = replicas(plan);
  const TaskStore& tasks = iteration.graph.tasks;
  for (std::size_t t = 0; t < tasks.size(); ++t)
    for_each_device(tasks[t], [&](DeviceId device) { ++start_[device.index()]; });
  // These are ends of the devices' parts now; they become starts once filled from the last task to the first.
  for (std::size_t d = 1; d < start_.size(); ++d) start_[d] += start_[d - 1];
  tasks_.resize(start_.back());
  for (std::size_t t = tasks.size(); t-- > 0;)
    for_each_device(tasks[t],
                    [&](DeviceId device) { tasks_[--start_[device.index()]] = static_cast<TaskId>(t); });
}

/// Calls `use` for the devices on which a task appears.
template <class Use>
void RunByDevice::for_each_device(const Task& task, Use use) const {
  if (task.travels()) {
    const TransferPath& path = iteration_.graph.paths[static_cast<std::size_t>(task.place)];
    use(path.from);
    if (path.to != path.from) use(path.to);
  } else if (task.place >= 0) {
    use(task.device());
  } else if (task.bytes > 0) {
    const auto& members = is_shared(task) ? shared_[static_cast<std::size_t>(task.micro_batch)]
                                          : plan_.stages[task.stage.index()].devices;
    for (const DeviceId device : members) use(device);
  }
}

std::span<const TaskId> RunByDevice::tasks_of(DeviceId device) const {
  return {tasks_.data() + start_[device.index()], tasks_.data() + start_[device.index() + 1]};
}

trace::ByDevice::RunExtent RunByDevice::extent() const {
  return {plan_.training.mini_batch, iteration_time(plan_, iteration_, times_),
          mini_batches(plan_, iteration_), start_.size() - 1};
}

trace::DeviceTrace RunByDevice::device(DeviceId device) const {
  return memory_.of(device, tasks_of(device));
}

void RunByDevice::visit(DeviceId device, const trace::SpanVisitor& visitor) const {
  std::optional<trace::Span> pass;  // latest pass so far, of which more pieces may follow
  for (const TaskId id : tasks_of(device)) {
    const Task task = iteration_.graph.task(id);
    const trace::Span span = span_of(task, id, device);
    if (!computes(task.kind)) {
      visitor(span);
    } else if (pass && same_pass(*pass, span)) {
      if (iteration_.cut) pass->collective += span.start - pass->end;
      pass->end = span.end;
    } else {
      if (pass) visitor(*pass);
      pass = span;
    }
  }
  if (pass) visitor(*pass);
}

trace::Span RunByDevice::span_of(const Task& task, TaskId id, DeviceId device) const {
  trace::Span span;
  span.kind = task.kind;
  span.device = device;
  if (task.travels()) {
    const TransferPath& path = iteration_.graph.paths[static_cast<std::size_t>(task.place)];
    span.device = path.from;
    span.peer = path.to;
  }
  span.stage = task.stage;
  span.shared = is_shared(task);
  span.micro_batch = span.shared ? -1 : task.micro_batch;
  span.start = Picoseconds(times_.start[static_cast<std::size_t>(id)]);
  span.end = Picoseconds(times_.end[static_cast<std::size_t>(id)]);
  span.bytes = core::Bytes(task.bytes);
  span.collective = collective_of(task);
  return span;
}

core::Picoseconds RunByDevice::collective_of(const Task& task) const {
  if (replica_.empty() || !computes(task.kind)) return {};
  const std::size_t stage = task.stage.index();
  const std::size_t replica = replica_[stage][task.device().index()];
  if (task.kind == TaskKind::step) return {};
  const program::SampleSharing& sharing = iteration_.stages[stage].sharing;
  const std::int32_t in_row = sharing.in_turn ? task.micro_batch / sharing.replicas : task.micro_batch;
  return collective_time(
      of_micro_batch(iteration_.collectives[stage][replica], static_cast<std::size_t>(in_row)), task.kind);
}

}  // namespace penstock::sim
