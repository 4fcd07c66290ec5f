#include "penstock/sim/simulate.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "engine.hpp"
#include "memory.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "prepare.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::Picoseconds;
using core::StageId;

DeviceId device_id(std::int32_t index) {
  return DeviceId(static_cast<std::size_t>(index));
}

trace::Span span_of(const TaskGraph& graph, const Task& task, std::int64_t start, std::int64_t end) {
  trace::Span span;
  span.kind = task.kind;
  if (task.travels()) {
    const Path& path = graph.paths[static_cast<std::size_t>(task.place)];
    span.device = device_id(path.from);
    span.peer = device_id(path.to);
  } else if (task.place >= 0) {
    span.device = device_id(task.place);
  }
  span.stage = StageId(static_cast<std::size_t>(task.stage));
  span.shared = task.kind == trace::TaskKind::all_reduce && task.micro_batch >= 0;
  span.micro_batch = span.shared ? -1 : task.micro_batch;
  span.start = Picoseconds(start);
  span.end = Picoseconds(end);
  span.bytes = core::Bytes(task.bytes);
  return span;
}

Picoseconds collective_of(const cost::OpTime& time, trace::TaskKind kind) {
  using trace::TaskKind;
  if (kind == TaskKind::forward) return to_picoseconds(time.forward);
  if (kind == TaskKind::recompute) return to_picoseconds(time.recompute);
  if (kind == TaskKind::backward) return to_picoseconds(time.backward());
  if (kind == TaskKind::input_gradient) return to_picoseconds(time.input_gradient);
  return kind == TaskKind::weight_gradient ? to_picoseconds(time.weight_gradient) : Picoseconds();
}

/// What each pass spends on collectives, whole passes only.
void add_collectives(const plan::Plan& plan, const Iteration& iteration, std::vector<trace::Span>& spans) {
  std::vector<std::vector<std::size_t>> replica(plan.stages.size());  // [stage][device]
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    for (std::size_t i = 0; i < stage.devices.size(); ++i) {
      replica[s].resize(std::max(replica[s].size(), stage.devices[i].index() + 1));
      replica[s][stage.devices[i].index()] = i / static_cast<std::size_t>(stage.tensor_parallel);
    }
  }
  for (trace::Span& span : spans) {
    if (!computes(span.kind)) continue;
    const std::size_t s = span.stage.index();
    span.collective = collective_of(iteration.collectives[s][replica[s][span.device.index()]], span.kind);
  }
}

/// Gives the memory back, which `= {}` would keep.
template <class T>
void release(std::vector<T>& list) {
  std::vector<T>().swap(list);
}

bool has_collectives(const plan::Plan& plan) {
  return std::any_of(plan.stages.begin(), plan.stages.end(),
                     [](const plan::Stage& stage) { return stage.tensor_parallel > 1 || stage.zero > 1; });
}

/// Pieces of one pass that was cut at its buckets.
bool same_pass(const trace::Span& a, const trace::Span& b) {
  return a.kind == b.kind && a.stage == b.stage && a.micro_batch == b.micro_batch &&
         a.kind != trace::TaskKind::step;
}

/// By task. A closed-form all-reduce is one task but shows on everybody who takes part; barriers do not show.
/// The pieces of a pass, which follow each other in the order of their device, show as one.
std::vector<trace::Span> listed_spans(const cost::Problem& problem, const plan::Plan& plan,
                                      const TaskGraph& graph, const Times& times) {
  std::vector<trace::Span> out;
  const auto shared = plan::shared_parameters(problem.graph, plan);
  out.reserve(graph.tasks.size());
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> last(graph.devices, kNone);  // [device] its latest pass so far
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    trace::Span span = span_of(graph, task, times.start[t], times.end[t]);
    if (computes(task.kind)) {
      std::size_t& pass = last[static_cast<std::size_t>(task.place)];
      if (pass != kNone && same_pass(out[pass], span)) {
        out[pass].end = span.end;
      } else {
        pass = out.size();
        out.push_back(span);
      }
    } else if (task.place >= 0) {
      out.push_back(span);
    } else if (task.bytes > 0) {
      const auto members = span.shared
                               ? plan::devices(shared[static_cast<std::size_t>(task.micro_batch)], plan)
                               : plan.stages[span.stage.index()].devices;
      for (DeviceId device : members) {
        span.device = device;
        out.push_back(span);
      }
    }
  }
  return out;
}

/// Equals stay in their order. The places are sorted, not the spans: these are many, and one copy is enough.
void sort(std::vector<trace::Span>& spans) {
  struct Place {
    Picoseconds start;
    std::uint32_t from;
  };
  std::vector<Place> places(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) places[i] = {spans[i].start, static_cast<std::uint32_t>(i)};
  std::sort(places.begin(), places.end(), [&](const Place& x, const Place& y) {
    if (x.start != y.start) return x.start < y.start;
    const trace::Span &a = spans[x.from], &b = spans[y.from];
    return std::tie(a.device, a.kind, a.stage, a.micro_batch, x.from) <
           std::tie(b.device, b.kind, b.stage, b.micro_batch, y.from);
  });
  // Round every cycle of the permutation; what has come to its place points to itself.
  for (std::size_t first = 0; first < places.size(); ++first) {
    const trace::Span kept = spans[first];
    std::size_t to = first;
    while (places[to].from != first && places[to].from != to) {
      const std::size_t from = places[to].from;
      spans[to] = spans[from];
      places[to].from = static_cast<std::uint32_t>(to);
      to = from;
    }
    if (places[to].from == first) {
      spans[to] = kept;
      places[to].from = static_cast<std::uint32_t>(to);
    }
  }
}

}  // namespace

trace::Trace simulate(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                      const SimulationOptions& options) {
  const plan::Plan& plan = scheduled.plan;
  Iteration iteration = prepare(problem, scheduled, options);
  Times times = run(iteration.graph, options.network, true, options.stop);
  trace::Trace trace;
  trace.mini_batch = plan.training.mini_batch;
  trace.mini_batches = mini_batches(plan, iteration);
  trace.iteration = iteration_time(plan, iteration, times);
  trace.devices = device_memory(problem, plan, iteration, times);
  release(iteration.stages);
  release(iteration.graph.successor_start);
  release(iteration.graph.successors);
  release(iteration.graph.predecessor_count);
  trace.spans = listed_spans(problem, plan, iteration.graph, times);
  // The tasks of a long iteration are as many bytes as its spans: they go before these are sorted.
  iteration.graph = {};
  times = {};
  sort(trace.spans);
  if (has_collectives(plan)) add_collectives(plan, iteration, trace.spans);
  return trace;
}

Picoseconds simulate_time(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                          const SimulationOptions& options) {
  const Iteration iteration = prepare(problem, scheduled, options);
  const bool one = mini_batches(scheduled.plan, iteration) == 1;
  return iteration_time(scheduled.plan, iteration, run(iteration.graph, options.network, !one, options.stop));
}

std::size_t task_count(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                       const SimulationOptions& options) {
  return prepare(problem, scheduled, options).graph.tasks.size();
}

}  // namespace penstock::sim
