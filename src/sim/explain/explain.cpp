#include "penstock/sim/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "engine.hpp"
#include "explain/critical_path.hpp"
#include "explain/without.hpp"
#include "tasks/prepare.hpp"

namespace penstock::sim {
namespace {

using core::Picoseconds;
using trace::TaskKind;

std::string words(const TaskGraph& graph, TaskId id) {
  const Task task = graph.task(id);
  const std::size_t stage = task.stage.index();
  if (task.travels()) {
    const TransferPath& path = graph.path(id);
    if (task.kind == TaskKind::all_reduce)
      return fmt::format("all-reduce of stage {}, device {} to {}", stage, path.from.index(),
                         path.to.index());
    return fmt::format("micro-batch {} of stage {}, device {} to {}", task.micro_batch, stage,
                       path.from.index(), path.to.index());
  }
  if (task.kind == TaskKind::all_reduce) return fmt::format("all-reduce of stage {}", stage);
  if (task.kind == TaskKind::step) return fmt::format("step of stage {} on device {}", stage, task.place);
  return fmt::format("{} of micro-batch {} on stage {}, device {}", trace::name(task.kind), task.micro_batch,
                     stage, task.place);
}

/// Appends the parts of the path's tasks; parts of no length are left out.
class EntryBuilder {
 public:
  EntryBuilder(const TaskGraph& graph, const TaskTimes& times)
      : graph_(graph), times_(times), links_(graph, times) {}

  std::vector<PathEntry> of(const std::vector<PathStep>& steps) {
    for (const PathStep& step : steps) graph_.task(step.task).travels() ? add_transfer(step) : add_work(step);
    return std::move(out_);
  }

 private:
  std::int64_t start(TaskId task) const { return times_.start[static_cast<std::size_t>(task)]; }
  std::int64_t end(TaskId task) const { return times_.end[static_cast<std::size_t>(task)]; }

  void add(const PathStep& step, PathKind kind, LimitingResource resource, std::int64_t from,
           std::int64_t to) {
    if (from >= to) return;
    const Task task = graph_.task(step.task);
    const bool computes = !task.travels() && task.place >= 0;
    out_.push_back({words(graph_, step.task), resource, computes ? task.device() : core::DeviceId(), kind,
                    step.cause, Picoseconds(from), Picoseconds(to)});
  }

  void add_work(const PathStep& step) {
    const Task task = graph_.task(step.task);
    const bool reduces = task.kind == TaskKind::all_reduce;
    const PathKind kind = reduces                       ? PathKind::reduce
                          : task.kind == TaskKind::step ? PathKind::step
                                                        : PathKind::compute;
    const LimitingResource resource =
        reduces ? LimitingResource{LimitingResource::ResourceKind::reduction, task.stage.index()}
                : LimitingResource{LimitingResource::ResourceKind::stage, task.stage.index()};
    add(step, kind, resource, start(step.task), end(step.task));
  }

  void add_transfer(const PathStep& step) {
    const TransferPath& path = graph_.path(step.task);
    const bool reduces = graph_.task(step.task).kind == TaskKind::all_reduce;
    const std::int64_t arrived = end(step.task), sent = std::min(start(step.task) + path.latency, arrived);
    const std::int64_t alone = end_alone(step.task, sent, arrived);
    const std::uint32_t narrowest =
        *std::min_element(path.links.begin(), path.links.end(),
                          [&](auto a, auto b) { return graph_.capacity[a] < graph_.capacity[b]; });
    const std::uint32_t shared = alone < arrived ? links_.fullest(step.task) : narrowest;
    add(step, PathKind::latency, {LimitingResource::ResourceKind::latency, 0}, start(step.task), sent);
    add(step, reduces ? PathKind::reduce : PathKind::transfer,
        {LimitingResource::ResourceKind::link, narrowest}, sent, alone);
    add(step, PathKind::contention, {LimitingResource::ResourceKind::link, shared}, alone, arrived);
  }

  /// End of its bytes with the route to itself; a picosecond is rounding.
  std::int64_t end_alone(TaskId id, std::int64_t sent, std::int64_t arrived) const {
    const std::int64_t bytes = graph_.task(id).duration - graph_.path(id).latency;
    const std::int64_t end =
        graph_.changes.empty() ? sent + bytes : path_speed(graph_, graph_.path(id)).finish(sent, bytes);
    return end + 1 >= arrived ? arrived : end;
  }

  const TaskGraph& graph_;
  const TaskTimes& times_;
  LinkUse links_;
  std::vector<PathEntry> out_;
};

/// Returns a text such as "stage 0, devices 0 to 15".
std::string stage_name(const plan::Plan& plan, std::size_t index) {
  const auto& devices = plan.stages[index].devices;
  std::string out = fmt::format("stage {}, device", index);
  if (devices.size() == 1) return out + fmt::format(" {}", devices.front().index());
  bool row = true;
  for (std::size_t d = 0; d < devices.size(); ++d)
    row = row && devices[d].index() == devices.front().index() + d;
  if (row) return out + fmt::format("s {} to {}", devices.front().index(), devices.back().index());
  out += 's';
  for (const core::DeviceId device : devices) out += fmt::format(" {}", device.index());
  return out;
}

std::string resource_name(const plan::Plan& plan, const cluster::Cluster& cluster,
                          const LimitingResource& resource) {
  switch (resource.kind) {
    case LimitingResource::ResourceKind::stage:
      return stage_name(plan, resource.index);
    case LimitingResource::ResourceKind::link: {
      const cluster::Link& link = cluster.links()[resource.index];
      return fmt::format("link {} to {}", cluster.points()[link.from], cluster.points()[link.to]);
    }
    case LimitingResource::ResourceKind::latency:
      return "latency";
    case LimitingResource::ResourceKind::reduction:
      break;
  }
  return fmt::format("all-reduce of stage {}", resource.index);
}

std::vector<ResourceShare> shares(const plan::Plan& plan, const cluster::Cluster& cluster,
                                  const TimeExplanation& explanation) {
  std::map<LimitingResource, Picoseconds> time;
  for (const PathEntry& entry : explanation.path) time[entry.resource] += entry.end - entry.start;
  std::vector<ResourceShare> out;
  for (const auto& [resource, sum] : time)
    out.push_back({resource, resource_name(plan, cluster, resource), sum, sum / explanation.run, {}});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
  return out;
}

/// Runs of equal resource and kind.
std::vector<PathRun> alike(const std::vector<PathEntry>& path) {
  std::vector<PathRun> out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool goes_on =
        i > 0 && path[i].resource == path[i - 1].resource && path[i].kind == path[i - 1].kind;
    if (!goes_on) out.push_back({i, i, i, {}});
    out.back().last = i;
  }
  return out;
}

void find_main(const std::vector<PathEntry>& path, PathRun& run) {
  struct ResourceSum {
    Picoseconds time;
    std::size_t first;
  };
  std::map<std::pair<LimitingResource, PathKind>, ResourceSum> sums;
  for (std::size_t i = run.first; i <= run.last; ++i)
    sums.try_emplace({path[i].resource, path[i].kind}, ResourceSum{{}, i}).first->second.time +=
        path[i].end - path[i].start;
  run.main_time = Picoseconds(-1);
  for (const auto& [key, sum] : sums)
    if (sum.time > run.main_time) run.main = sum.first, run.main_time = sum.time;
}

}  // namespace

std::string_view name(PathKind kind) {
  constexpr std::array<std::string_view, 6> names = {"compute",  "step",   "latency",
                                                     "transfer", "reduce", "contention"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name(StartCause cause) {
  constexpr std::array<std::string_view, 6> names = {"begin", "data", "device", "link", "buffer", "barrier"};
  return names[static_cast<std::size_t>(cause)];
}

TimeExplanation explain(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                        const SimulationOptions& options, std::size_t simulated_anew) {
  const IterationTasks iteration = prepare(problem, scheduled, options);
  const TaskTimes times = run(iteration.graph, options.network);
  TimeExplanation out;
  out.iteration = iteration_time(scheduled.plan, iteration, times);
  out.run = Picoseconds(times.makespan);
  out.path = EntryBuilder(iteration.graph, times).of(critical_path(iteration.graph, times));
  out.shares = shares(scheduled.plan, problem.cluster, out);
  for (std::size_t i = 0; i < std::min(simulated_anew, out.shares.size()); ++i) {
    IterationTasks faster = iteration;
    faster.graph = without(iteration.graph, out.shares[i].resource);
    out.shares[i].without = iteration_time(scheduled.plan, faster, run(faster.graph, options.network));
  }
  return out;
}

std::vector<PathRun> compressed(const TimeExplanation& explanation, std::size_t most) {
  const auto& path = explanation.path;
  std::vector<PathRun> out = alike(path);
  if (out.size() > most) {
    // Cut the time into `most` equal parts; a run goes to the part that contains its middle.
    const auto part = [&](const PathRun& run) {
      const double middle = (path[run.first].start + path[run.last].end) / explanation.run / 2;
      return std::min(most - 1, static_cast<std::size_t>(middle * static_cast<double>(most)));
    };
    std::vector<PathRun> joined;
    std::size_t open = most;
    for (const PathRun& run : out) {
      if (part(run) != open)
        joined.push_back(run);
      else
        joined.back().last = run.last;
      open = part(run);
    }
    out = std::move(joined);
  }
  for (PathRun& run : out) find_main(path, run);
  return out;
}

}  // namespace penstock::sim
