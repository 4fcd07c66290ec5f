#include "penstock/trace/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <tuple>

#include "penstock/core/error.hpp"
#include "penstock/trace/summary.hpp"

namespace penstock::trace {
namespace {

using Key = std::tuple<TaskKind, core::DeviceId, core::DeviceId, core::StageId, std::int32_t>;

Key key_of(const Span& span) {
  return {span.kind, span.device, span.peer, span.stage, span.micro_batch};
}

core::Picoseconds first_start(const Trace& trace) {
  return trace.spans.empty() ? core::Picoseconds() : trace.spans.front().start;
}

double seconds(core::Picoseconds time) {
  return to_seconds(time).value();
}

/// Spans of one key in the order of their start; each can be taken once.
class SpanCounterparts {
 public:
  explicit SpanCounterparts(const Trace& trace) {
    for (const Span& span : trace.spans) spans_[key_of(span)].push_back(&span);
  }
  const Span* take(const Span& like) {
    const auto found = spans_.find(key_of(like));
    if (found == spans_.end() || found->second.empty()) return nullptr;
    const Span* out = found->second.front();
    found->second.pop_front();
    return out;
  }
  std::int64_t left() const {
    std::int64_t out = 0;
    for (const auto& [key, spans] : spans_) out += std::ssize(spans);
    return out;
  }

 private:
  std::map<Key, std::deque<const Span*>> spans_;
};

void match_tasks(const Trace& measured, const Trace& simulated, TraceComparison& out) {
  SpanCounterparts counterparts(simulated);
  const core::Picoseconds zero_m = first_start(measured), zero_s = first_start(simulated);
  for (const Span& m : measured.spans) {
    const Span* s = counterparts.take(m);
    if (s == nullptr)
      ++out.only_measured;
    else
      out.tasks.push_back({m.kind,
                           m.device,
                           m.peer,
                           m.stage,
                           m.micro_batch,
                           {seconds(m.start - zero_m), seconds(s->start - zero_s)},
                           {seconds(m.end - m.start), seconds(s->end - s->start)}});
  }
  out.only_simulated = counterparts.left();
}

KindPair of_kind(const std::vector<TaskPair>& tasks, TaskKind kind, std::int64_t mini_batches) {
  KindPair out;
  out.kind = kind;
  std::vector<double> errors;
  for (const TaskPair& task : tasks) {
    if (task.kind != kind) continue;
    ++out.count;
    out.total.measured += task.duration.measured / static_cast<double>(mini_batches);
    out.total.simulated += task.duration.simulated / static_cast<double>(mini_batches);
    out.start_shift += std::abs(task.start.simulated - task.start.measured);
    errors.push_back(task.duration.error());
  }
  if (out.count > 0) out.start_shift /= static_cast<double>(out.count);
  const PredictionAccuracy durations = accuracy(errors);
  out.mean_error = durations.mean_error;
  out.worst = durations.worst;
  return out;
}

/// Exposed communication, averaged over `devices`.
double mean(const Summary& summary, const std::vector<std::size_t>& devices) {
  double out = 0;
  for (const std::size_t d : devices) out += summary.devices[d].exposed_communication.value();
  return devices.empty() ? 0 : out / static_cast<double>(devices.size());
}

const DeviceSummary& fullest(const Summary& summary, const std::vector<std::size_t>& devices) {
  const auto by_peak = [&](std::size_t a, std::size_t b) {
    return summary.devices[a].peak < summary.devices[b].peak;
  };
  return summary.devices[*std::max_element(devices.begin(), devices.end(), by_peak)];
}

double bytes(core::Bytes count) {
  return static_cast<double>(count.value());
}

/// Compares the fullest of `devices`, which are not empty.
template <class Out>
void compare_memory(const Summary& measured, const Summary& simulated,
                    const std::vector<std::size_t>& devices, Out& out) {
  const DeviceSummary &m = fullest(measured, devices), &s = fullest(simulated, devices);
  out.peak = {bytes(m.peak), bytes(s.peak)};
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind)
    out.at_peak[kind] = {bytes(m.at_peak[kind]), bytes(s.at_peak[kind])};
}

std::vector<std::size_t> in_use(const Trace& trace) {
  std::vector<std::size_t> out;
  for (std::size_t d = 0; d < trace.devices.size(); ++d)
    if (!trace.devices[d].stages.empty()) out.push_back(d);
  return out;
}

std::map<core::StageId, std::vector<std::size_t>> devices_by_stage(const Trace& trace) {
  std::map<core::StageId, std::vector<std::size_t>> out;
  for (std::size_t d = 0; d < trace.devices.size(); ++d)
    for (const core::StageId stage : trace.devices[d].stages) out[stage].push_back(d);
  return out;
}

double compute_of(const Trace& trace, core::StageId stage) {
  core::Picoseconds out;
  for (const Span& span : trace.spans)
    if (span.stage == stage && computes(span.kind)) out += span.end - span.start;
  return seconds(out) / static_cast<double>(trace.mini_batches);
}

}  // namespace

double QuantityPair::error() const {
  if (measured == simulated) return 0;
  return measured == 0 ? std::numeric_limits<double>::infinity() : simulated / measured - 1;
}

TraceComparison compare(const Trace& measured, const Trace& simulated) {
  core::require(measured.devices.size() == simulated.devices.size(), "traces of one plan have its devices");
  const Summary m = summarise(measured), s = summarise(simulated);
  const auto used = in_use(simulated);
  TraceComparison out;
  out.iteration = {m.iteration.value(), s.iteration.value()};
  out.exposed = {mean(m, used), mean(s, used)};
  if (!used.empty()) compare_memory(m, s, used, out);
  for (const auto& [stage, devices] : devices_by_stage(simulated)) {
    StagePair& pair = out.stages.emplace_back();
    pair.stage = stage;
    pair.compute = {compute_of(measured, stage), compute_of(simulated, stage)};
    pair.exposed = {mean(m, devices), mean(s, devices)};
    compare_memory(m, s, devices, pair);
  }
  match_tasks(measured, simulated, out);
  for (std::size_t kind = 0; kind < kTaskKinds; ++kind)
    if (KindPair pair = of_kind(out.tasks, static_cast<TaskKind>(kind), measured.mini_batches);
        pair.count > 0)
      out.kinds.push_back(pair);
  return out;
}

PredictionAccuracy accuracy(const std::vector<double>& errors) {
  PredictionAccuracy out;
  for (const double error : errors) {
    out.mean_error += std::abs(error) / static_cast<double>(errors.size());
    if (std::abs(error) > std::abs(out.worst)) out.worst = error;
  }
  return out;
}

}  // namespace penstock::trace
