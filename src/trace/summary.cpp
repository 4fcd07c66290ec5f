#include "penstock/trace/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace penstock::trace {
namespace {

using core::Picoseconds;
using Intervals = std::vector<std::pair<Picoseconds, Picoseconds>>;

/// Length of the union of the intervals.
Picoseconds covered(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Picoseconds total, reached;
  for (const auto& [start, end] : intervals) {
    const Picoseconds from = std::max(start, reached);
    if (end > from) total += end - from;
    reached = std::max(reached, end);
  }
  return total;
}

/// Activity of one device.
struct DeviceActivity {
  Intervals compute;
  Intervals communication;
  Picoseconds collective;  ///< within passes
  std::vector<Span> passes;
};

DeviceActivity activity_of(const ByDevice& run, core::DeviceId device) {
  DeviceActivity out;
  run.visit(device, [&](const Span& span) {
    (computes(span.kind) ? out.compute : out.communication).emplace_back(span.start, span.end);
    if (span.device == device) out.collective += span.collective;
    if (computes(span.kind)) out.passes.push_back(span);
  });
  return out;
}

core::Bytes sum(const MemoryByKind& memory) {
  return std::accumulate(memory.begin(), memory.end(), core::Bytes());
}

MemoryByKind at(const DeviceTrace& device, const MemoryPoint& point) {
  MemoryByKind memory = device.fixed;
  memory[static_cast<std::size_t>(MemoryKind::activations)] += point.activations;
  memory[static_cast<std::size_t>(MemoryKind::buffers)] += point.buffers;
  return memory;
}

/// Kind of the task that runs in part of an interval. A backward pass goes first, since only it needs the
/// workspace; where none runs, the latest that began.
TaskKind running(const std::vector<Span>& passes, Picoseconds from, Picoseconds until) {
  TaskKind out = TaskKind::forward;
  Picoseconds latest{-1};
  for (const Span& pass : passes) {
    const bool overlaps = pass.start < until && pass.end > from;
    if (overlaps && (pass.kind == TaskKind::backward || pass.kind == TaskKind::input_gradient))
      return pass.kind;
    if (pass.start >= until || pass.start <= latest) continue;
    latest = pass.start;
    out = pass.kind;
  }
  return out;
}

/// Nothing but what lasts, and what the optimizer's step makes.
MemoryByKind during_step(const DeviceTrace& device) {
  MemoryByKind memory = device.fixed;
  memory[static_cast<std::size_t>(MemoryKind::workspace)] = core::Bytes(0);
  memory[static_cast<std::size_t>(MemoryKind::step)] = device.step;
  return memory;
}

/// The last optimizer's step, or the end of the passes.
Picoseconds step_time(const std::vector<Span>& passes) {
  Picoseconds step{-1}, end;
  for (const Span& pass : passes) {
    if (pass.kind == TaskKind::step) step = std::max(step, pass.start);
    end = std::max(end, pass.end);
  }
  return step < Picoseconds(0) ? end : step;
}

void find_peak(const DeviceTrace& device, const std::vector<Span>& passes, DeviceSummary& out) {
  out.at_peak = device.fixed;
  out.peak = sum(device.fixed);
  const auto& points = device.memory;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i + 1 < points.size() && points[i + 1].time == points[i].time) continue;  // the value had no duration
    const MemoryByKind memory = at(device, points[i]);
    if (sum(memory) <= out.peak) continue;
    out.at_peak = memory;
    out.peak = sum(memory);
    out.peak_time = points[i].time;
  }
  const auto lower = std::ranges::find_if(points, [&](const MemoryPoint& point) {
    return point.time > out.peak_time && sum(at(device, point)) < out.peak;
  });
  out.moment =
      running(passes, out.peak_time,
              lower == points.end() ? Picoseconds(std::numeric_limits<std::int64_t>::max()) : lower->time);
  if (const MemoryByKind step = during_step(device); sum(step) > out.peak) {
    out.at_peak = step;
    out.peak = sum(step);
    out.peak_time = step_time(passes);
    out.moment = TaskKind::step;
  }
}

DeviceSummary summarise(const DeviceTrace& device, DeviceActivity activity, std::int64_t mini_batches) {
  DeviceSummary out;
  const Picoseconds collective = activity.collective, in_passes = covered(activity.compute);
  // Communication that no computation hides is the part by which it extends the union of both.
  Intervals both = std::move(activity.communication);
  both.insert(both.end(), activity.compute.begin(), activity.compute.end());
  const auto each = static_cast<double>(mini_batches);
  out.busy = to_seconds(in_passes - collective) / each;
  out.exposed_communication = to_seconds(covered(std::move(both)) - in_passes + collective) / each;
  find_peak(device, activity.passes, out);
  return out;
}

/// Rounding may leave slightly less than zero for devices that never wait.
double share(double value) {
  constexpr double kRounding = 1e-12;
  return std::abs(value) < kRounding ? 0 : value;
}

}  // namespace

Summary summarise(const ByDevice& run) {
  const ByDevice::RunExtent extent = run.extent();
  Summary out;
  out.iteration = to_seconds(extent.iteration);
  out.mini_batches = extent.mini_batches;
  double busy = 0, exposed = 0;
  for (std::size_t d = 0; d < extent.devices; ++d) {
    const core::DeviceId id(d);
    const DeviceTrace device = run.device(id);
    out.devices.push_back(summarise(device, activity_of(run, id), extent.mini_batches));
    busy += out.devices.back().busy.value();
    exposed += out.devices.back().exposed_communication.value();
    out.peak_memory = std::max(out.peak_memory, out.devices.back().peak);
    if (auto failure = out_of_memory(run, id, device)) out.out_of_memory.push_back(*failure);
  }
  sort_by_time(out.out_of_memory);
  if (extent.iteration.value() <= 0 || extent.devices == 0) return out;
  const double device_time = out.iteration.value() * static_cast<double>(extent.devices);
  out.samples_per_second = static_cast<double>(extent.mini_batch) / out.iteration.value();
  out.bubble = share(1 - busy / device_time);
  out.exposed_communication = exposed / device_time;
  return out;
}

Summary summarise(const Trace& trace) {
  return summarise(TraceByDevice(trace));
}

}  // namespace penstock::trace
