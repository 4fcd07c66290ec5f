#include "penstock/trace/by_device.hpp"

#include <algorithm>
#include <tuple>

#include "penstock/core/error.hpp"

namespace penstock::trace {
namespace {

using core::DeviceId;
using core::Picoseconds;

/// Stable sort. Sorts places instead of spans: there are many spans, and one copy is enough.
void sort(std::vector<Span>& spans) {
  struct SpanIndex {
    Picoseconds start;
    std::uint32_t from;
  };
  std::vector<SpanIndex> places(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) places[i] = {spans[i].start, static_cast<std::uint32_t>(i)};
  std::sort(places.begin(), places.end(), [&](const SpanIndex& x, const SpanIndex& y) {
    if (x.start != y.start) return x.start < y.start;
    const Span &a = spans[x.from], &b = spans[y.from];
    return std::tie(a.device, a.kind, a.stage, a.micro_batch, x.from) <
           std::tie(b.device, b.kind, b.stage, b.micro_batch, y.from);
  });
  // Rotate every cycle of the permutation; an element in its place points to itself.
  for (std::size_t first = 0; first < places.size(); ++first) {
    const Span kept = spans[first];
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

/// The devices that a span concerns.
template <class Use>
void for_each_device(const Span& span, Use use) {
  use(span.device);
  if (span.peer.valid() && span.peer != span.device) use(span.peer);
}

}  // namespace

Trace whole(const ByDevice& run) {
  const ByDevice::RunExtent extent = run.extent();
  Trace out;
  out.mini_batch = extent.mini_batch;
  out.iteration = extent.iteration;
  out.mini_batches = extent.mini_batches;
  for (std::size_t d = 0; d < extent.devices; ++d) {
    const DeviceId device(d);
    out.devices.push_back(run.device(device));
    run.visit(device, [&](const Span& span) {
      if (span.device == device) out.spans.push_back(span);
    });
  }
  sort(out.spans);
  return out;
}

TraceByDevice::TraceByDevice(const Trace& trace) : trace_(trace), start_(trace.devices.size() + 1) {
  const auto of = [&](DeviceId device) -> std::size_t& {
    core::require(device.valid() && device.index() < trace.devices.size(),
                  "a span names devices of its trace");
    return start_[device.index()];
  };
  for (const Span& span : trace.spans) for_each_device(span, [&](DeviceId device) { ++of(device); });
  // The numbers are ends of the devices' parts now, and starts once filled from the last span to the first.
  for (std::size_t d = 1; d < start_.size(); ++d) start_[d] += start_[d - 1];
  spans_.resize(start_.back());
  for (std::size_t s = trace.spans.size(); s-- > 0;)
    for_each_device(trace.spans[s],
                    [&](DeviceId device) { spans_[--of(device)] = static_cast<std::uint32_t>(s); });
}

ByDevice::RunExtent TraceByDevice::extent() const {
  return {trace_.mini_batch, trace_.iteration, trace_.mini_batches, trace_.devices.size()};
}

void TraceByDevice::visit(DeviceId device, const SpanVisitor& visitor) const {
  for (std::size_t i = start_[device.index()]; i < start_[device.index() + 1]; ++i)
    visitor(trace_.spans[spans_[i]]);
}

}  // namespace penstock::trace
