#include "penstock/sim/simulate.hpp"

#include <algorithm>
#include <tuple>

#include "apply.hpp"
#include "build.hpp"
#include "engine.hpp"
#include "memory.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::Picoseconds;

Iteration prepare(const cost::Problem& problem, const plan::Plan& plan, const schedule::TaskOrder& order) {
  return build_iteration(problem, plan, plan::StageGraph(problem.graph, plan), order);
}

/// The same in the world that the options say.
Iteration prepare(const cost::Problem& problem, const plan::Plan& plan, const schedule::TaskOrder& order,
                  const SimulationOptions& options) {
  Iteration iteration = prepare(problem, plan, order);
  if (options.imperfection) apply(*options.imperfection, options.seed, iteration.graph);
  return iteration;
}

DeviceId device_id(std::int32_t index) { return DeviceId(static_cast<std::size_t>(index)); }

trace::Span span_of(const TaskGraph& graph, const Task& task, std::int64_t start, std::int64_t end) {
  trace::Span span;
  span.kind = task.kind;
  if (task.kind == trace::TaskKind::transfer) {
    const Path& path = graph.paths[static_cast<std::size_t>(task.place)];
    span.device = device_id(path.from);
    span.peer = device_id(path.to);
  } else if (task.kind != trace::TaskKind::all_reduce) {
    span.device = device_id(task.place);
  }
  span.stage = core::StageId(static_cast<std::size_t>(graph.stage_of(task)));
  span.micro_batch = task.micro_batch;
  span.start = Picoseconds(start);
  span.end = Picoseconds(end);
  span.bytes = core::Bytes(task.bytes);
  return span;
}

/// An all-reduce is one task but shows on every replica.
std::vector<trace::Span> spans(const plan::Plan& plan, const TaskGraph& graph, const Times& times) {
  std::vector<trace::Span> out;
  out.reserve(graph.tasks.size());
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    trace::Span span = span_of(graph, graph.tasks[t], times.start[t], times.end[t]);
    if (span.kind != trace::TaskKind::all_reduce) {
      out.push_back(span);
      continue;
    }
    for (DeviceId device : plan.stages[span.stage.index()].devices) {
      span.device = device;
      out.push_back(span);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const trace::Span& a, const trace::Span& b) {
    return std::tie(a.start, a.device, a.kind, a.stage, a.micro_batch) <
           std::tie(b.start, b.device, b.kind, b.stage, b.micro_batch);
  });
  return out;
}

}  // namespace

trace::Trace simulate(const cost::Problem& problem, const plan::Plan& plan, const schedule::TaskOrder& order,
                      const SimulationOptions& options) {
  const Iteration iteration = prepare(problem, plan, order, options);
  const Times times = run(iteration.graph, options.network);
  trace::Trace trace;
  trace.mini_batch = plan.training.mini_batch;
  trace.iteration = Picoseconds(times.makespan);
  trace.spans = spans(plan, iteration.graph, times);
  trace.devices = device_memory(problem, plan, iteration, times);
  return trace;
}

Picoseconds simulate_time(const cost::Problem& problem, const plan::Plan& plan, const schedule::TaskOrder& order,
                          const SimulationOptions& options) {
  return Picoseconds(run(prepare(problem, plan, order, options).graph, options.network, false).makespan);
}

std::size_t task_count(const cost::Problem& problem, const plan::Plan& plan, const schedule::TaskOrder& order) {
  return prepare(problem, plan, order).graph.tasks.size();
}

}  // namespace penstock::sim
