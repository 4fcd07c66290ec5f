#include "penstock/trace/out_of_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "penstock/core/quantity_text.hpp"

namespace penstock::trace {
namespace {

using core::Bytes;
using core::DeviceId;

auto order(const Span& span) {
  return std::tuple(span.device, span.kind, span.stage, span.micro_batch);
}

/// The task that allocates memory at `time`: a pass for activations, a transfer for other memory. If there
/// are several, the first of the trace.
std::optional<Span> beginning(const ByDevice& run, DeviceId device, core::Picoseconds time,
                              bool activations) {
  std::optional<Span> out;
  run.visit(device, [&](const Span& span) {
    if (span.start != time) return;
    const bool asks = activations ? computes(span.kind) && span.device == device : span.peer == device;
    if (asks && (!out || order(span) < order(*out))) out = span;
  });
  return out;
}

/// The optimizer's step, where it makes more than the device has; the first of several.
std::optional<OutOfMemory> step_failure(const ByDevice& run, DeviceId id, const DeviceTrace& device,
                                        Bytes fixed) {
  OutOfMemory out{id,
                  {},
                  fixed - device.fixed[static_cast<std::size_t>(MemoryKind::workspace)] + device.step,
                  device.capacity,
                  false,
                  {}};
  if (out.needed <= device.capacity) return {};
  run.visit(id, [&](const Span& span) {
    if (span.kind == TaskKind::step && (!out.span || span.start < out.span->start)) out.span = span;
  });
  if (out.span) out.time = out.span->start;
  return out;
}

std::string what(const Span& span) {
  if (span.kind == TaskKind::step) return ", in the optimizer's step";
  if (computes(span.kind))
    return fmt::format(", in the {} of micro-batch {} on stage {}", name(span.kind), span.micro_batch,
                       span.stage.index());
  return fmt::format(", with the {} of micro-batch {} from device {}", name(span.kind), span.micro_batch,
                     span.device.index());
}

}  // namespace

std::optional<OutOfMemory> out_of_memory(const ByDevice& run, DeviceId id, const DeviceTrace& device) {
  if (device.capacity.value() == 0) return {};
  const Bytes fixed = std::accumulate(device.fixed.begin(), device.fixed.end(), Bytes());
  OutOfMemory out{id, {}, fixed, device.capacity, fixed > device.capacity, {}};
  if (out.throughout) return out;
  const auto& points = device.memory;
  MemoryPoint before{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i + 1 < points.size() && points[i + 1].time == points[i].time) continue;  // the value had no duration
    out.time = points[i].time;
    out.needed = fixed + points[i].activations + points[i].buffers;
    if (out.needed > device.capacity) {
      out.span = beginning(run, id, out.time, points[i].activations > before.activations);
      return out;
    }
    before = points[i];
  }
  return step_failure(run, id, device, fixed);
}

void sort_by_time(std::vector<OutOfMemory>& failures) {
  std::stable_sort(failures.begin(), failures.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
}

std::vector<OutOfMemory> out_of_memory(const Trace& trace) {
  std::vector<OutOfMemory> out;
  const TraceByDevice run(trace);
  for (std::size_t d = 0; d < trace.devices.size(); ++d)
    if (auto found = out_of_memory(run, DeviceId(d), trace.devices[d])) out.push_back(*found);
  sort_by_time(out);
  return out;
}

std::string in_words(const OutOfMemory& failure) {
  const std::string sizes = fmt::format("{} of {}", core::show(failure.needed), core::show(failure.capacity));
  if (failure.throughout)
    return fmt::format("device {} cannot hold its weights, gradients, optimizer state and workspace: {}",
                       failure.device.index(), sizes);
  return fmt::format("device {} runs out of memory at {}{}: {}", failure.device.index(),
                     core::show(to_seconds(failure.time)), failure.span ? what(*failure.span) : "", sizes);
}

}  // namespace penstock::trace
