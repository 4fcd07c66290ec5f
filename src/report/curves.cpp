#include "curves.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace penstock::report {
namespace {

using core::DeviceId;
using core::Picoseconds;
using trace::MemoryKind;
using trace::Span;

/// Appends a level; the last one at a moment replaces earlier ones.
void append(Curve& curve, Picoseconds time, std::int64_t value) {
  if (!curve.empty() && curve.back().time == time) curve.pop_back();
  const std::int64_t before = curve.empty() ? 0 : curve.back().value;
  if (value == before) return;
  if (curve.empty() && time > Picoseconds()) curve.push_back({Picoseconds(), 0});
  curve.push_back({time, value});
}

/// Changes at moments, in any order.
using Steps = std::vector<CurvePoint>;

void hold(Steps& steps, const Span& span, std::int64_t value) {
  if (span.start == span.end) return;
  steps.push_back({span.start, value});
  steps.push_back({span.end, -value});
}

Curve sum(Steps& steps) {
  std::sort(steps.begin(), steps.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.time < b.time; });
  Curve out;
  std::int64_t value = 0;
  for (const CurvePoint& step : steps) append(out, step.time, value += step.value);
  return out;
}

std::vector<Curve> sums(std::vector<Steps>& steps) {
  std::vector<Curve> out;
  for (Steps& one : steps) out.push_back(sum(one));
  return out;
}

/// Mean rate in whole bytes per second, so that rates add up exactly and return to zero.
std::int64_t mean_rate(const Span& span) {
  return std::llround(static_cast<double>(span.bytes.value()) / to_seconds(span.end - span.start).value());
}

}  // namespace

Curve memory_curve(const trace::DeviceTrace& device, MemoryKind kind) {
  Curve out;
  append(out, {}, at(device.fixed, kind).value());
  for (const trace::MemoryPoint& point : device.memory) {
    if (kind == MemoryKind::activations) append(out, point.time, point.activations.value());
    if (kind == MemoryKind::buffers) append(out, point.time, point.buffers.value());
  }
  return out;
}

/// True for transfers between stages or within a pass.
bool sends(const Span& span) {
  return span.kind == trace::TaskKind::transfer || span.kind == trace::TaskKind::collective;
}

MovingBytes moving_bytes(const trace::Trace& trace) {
  std::vector<Steps> out(trace.devices.size()), in(trace.devices.size());
  for (const Span& span : trace.spans) {
    if (!sends(span)) continue;
    hold(out.at(span.device.index()), span, span.bytes.value());
    hold(in.at(span.peer.index()), span, span.bytes.value());
  }
  return {sums(out), sums(in)};
}

std::vector<Curve> link_load(const trace::Trace& trace, const cluster::Cluster& cluster) {
  std::map<std::pair<DeviceId, DeviceId>, std::vector<std::size_t>> routes;
  std::vector<Steps> steps(cluster.links().size());
  for (const Span& span : trace.spans) {
    if (!sends(span) || span.start == span.end) continue;
    auto [route, unknown] = routes.try_emplace({span.device, span.peer});
    if (unknown) route->second = cluster.route(span.device, span.peer).links;
    for (const std::size_t link : route->second) hold(steps[link], span, mean_rate(span));
  }
  return sums(steps);
}

}  // namespace penstock::report
