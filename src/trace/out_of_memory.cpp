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

/// Activations come with a pass; what else comes was sent.
std::optional<Span> beginning(const Trace& trace, DeviceId device, core::Picoseconds time, bool activations) {
  for (const Span& span : trace.spans) {
    if (span.start != time) continue;
    if (activations ? computes(span.kind) && span.device == device : span.peer == device) return span;
  }
  return {};
}

std::optional<OutOfMemory> failure(const Trace& trace, DeviceId id) {
  const DeviceTrace& device = trace.devices[id.index()];
  const Bytes fixed = std::accumulate(device.fixed.begin(), device.fixed.end(), Bytes());
  OutOfMemory out{id, {}, fixed, device.capacity, fixed > device.capacity, {}};
  if (out.throughout) return out;
  const auto& points = device.memory;
  MemoryPoint before{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i + 1 < points.size() && points[i + 1].time == points[i].time) continue;  // never lasted
    out.time = points[i].time;
    out.needed = fixed + points[i].activations + points[i].buffers;
    if (out.needed > device.capacity) {
      out.span = beginning(trace, id, out.time, points[i].activations > before.activations);
      return out;
    }
    before = points[i];
  }
  return {};
}

std::string what(const Span& span) {
  if (computes(span.kind))
    return fmt::format(", in the {} of micro-batch {} on stage {}", name(span.kind), span.micro_batch,
                       span.stage.index());
  return fmt::format(", with the {} of micro-batch {} from device {}", name(span.kind), span.micro_batch,
                     span.device.index());
}

}  // namespace

std::vector<OutOfMemory> out_of_memory(const Trace& trace) {
  std::vector<OutOfMemory> out;
  for (std::size_t d = 0; d < trace.devices.size(); ++d)
    if (trace.devices[d].capacity.value() > 0)
      if (auto found = failure(trace, DeviceId(d))) out.push_back(std::move(*found));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
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
