#include <algorithm>

#include "evidence.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::check {
namespace {

/// Bytes that are allocated or freed at a moment.
struct MemoryUse {
  std::int64_t activations = 0, buffers = 0;
  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
};
using Curve = std::map<std::int64_t, MemoryUse>;  ///< by time, ps

/// Bytes held from each moment on; moments without a change are left out.
Curve summed(const Curve& changes) {
  Curve out;
  MemoryUse held, before;
  for (const auto& [time, change] : changes) {
    held.activations += change.activations;
    held.buffers += change.buffers;
    if (!(held == before)) out[time] = held;
    before = held;
  }
  return out;
}

Curve recorded(const trace::DeviceTrace& device) {
  Curve all, out;
  for (const auto& point : device.memory)
    all[point.time.value()] = {point.activations.value(), point.buffers.value()};
  MemoryUse before;
  for (const auto& [time, held] : all) {
    if (!(held == before)) out[time] = held;
    before = held;
  }
  return out;
}

/// Memory of a stage's micro-batches on one of its devices.
class StageOnDevice {
 public:
  StageOnDevice(const TraceEvidence& evidence, StageId stage, std::size_t i, Curve& changes)
      : evidence_(evidence),
        stage_(stage),
        device_(evidence.plan.stages[stage.index()].devices[i]),
        load_(load(evidence, evidence.plan.stages[stage.index()], i)),
        samples_(evidence.samples(stage, i)),
        changes_(changes) {}

  void add(std::int32_t micro_batch) {
    const PassRun *forward = evidence_.forward(device_, stage_, micro_batch),
                  *backward = evidence_.backward(device_, stage_, micro_batch),
                  *release = evidence_.release(device_, stage_, micro_batch),
                  *again = evidence_.find(device_, stage_, TaskKind::recompute, micro_batch);
    const cost::MemoryRule& rule = evidence_.problem.memory;
    const std::int64_t copies = rule.activation_copies * samples_;
    const std::int64_t lasting = (load_.inputs + load_.saved).value() * copies,
                       activations = load_.activations.value() * copies +
                                     load_.statistics.value() * rule.activation_copies;
    at(forward->first).activations += lasting + (again ? 0 : activations);
    if (again) at(again->first).activations += activations;
    const bool core = evidence_.plan.stages[stage_.index()].recompute == plan::kRecomputeCore;
    at(core ? backward->last : release->last).activations -= activations;
    const bool splits = release->span->kind == TaskKind::weight_gradient;
    const std::int64_t early = splits ? load_.released.value() * copies : 0;
    at(backward->last).activations -= early;
    at(release->last).activations -= lasting - early;
    if (!rule.transient) return;
    hold(arrival(*forward), forward->first, load_.inputs.value() * samples_);
    const Picoseconds gradient =
        late(*backward->span) ? arrived(*backward->span, again->first) : arrival(*backward);
    hold(gradient, backward->last, load_.outputs.value() * samples_);
    if (splits)
      hold(core ? again->first : backward->last, release->last, load_.deferred.at(samples_).value());
  }

 private:
  static cost::StageLoad load(const TraceEvidence& evidence, const plan::Stage& stage, std::size_t i) {
    return cost::stage_load(evidence.problem, stage, plan::Mesh(stage).coordinate(i, plan::MeshDim::tensor));
  }
  MemoryUse& at(Picoseconds time) { return changes_[time.value()]; }
  void hold(Picoseconds from, Picoseconds to, std::int64_t bytes) {
    at(from).buffers += bytes;
    at(to).buffers -= bytes;
  }

  /// A pair waits for the messages of both its passes, and takes all of them in from the first on. Exceptions
  /// are the messages that the recomputation before it waited for.
  Picoseconds arrival(const PassRun& pass) const {
    Picoseconds out = pass.first;
    for (const Span* span : {pass.span, pass.partner})
      if (span && !late(*span)) out = arrived(*span, out);
    return out;
  }
  /// Start of the first message for a pass; for a pass without messages, the time when it is needed.
  Picoseconds arrived(const Span& span, Picoseconds needed) const {
    const auto found = evidence_.arrival.find(&span);
    return found == evidence_.arrival.end() ? needed : std::min(needed, found->second);
  }
  /// True if recomputation waits for its gradient.
  bool late(const Span& span) const {
    return span.kind != TaskKind::forward && !evidence_.plan.stages[span.stage.index()].recompute.early &&
           evidence_.find(device_, span.stage, TaskKind::recompute, span.micro_batch);
  }

  const TraceEvidence& evidence_;
  StageId stage_;
  DeviceId device_;
  cost::StageLoad load_;
  std::int64_t samples_;
  Curve& changes_;
};

/// Rules for every curve.
void check_points(TraceEvidence& evidence, std::size_t device) {
  const auto& points = evidence.trace.devices[device].memory;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].activations < Bytes(0) || points[i].buffers < Bytes(0))
      evidence.violation("device {} holds a negative number of bytes at {} ps", device,
                         points[i].time.value());
    if (i > 0 && points[i].time <= points[i - 1].time)
      evidence.violation("device {}: memory goes back in time", device);
  }
  if (points.empty()) return;
  if (points.back().activations != Bytes(0) || points.back().buffers != Bytes(0))
    evidence.violation("device {} still holds bytes in the end", device);
  if (evidence.trace.mini_batches == 1 && points.back().time > evidence.trace.iteration)
    evidence.violation("device {}: memory changes after the iteration", device);
}

void compare(TraceEvidence& evidence, std::size_t device, const Curve& expected) {
  const Curve found = recorded(evidence.trace.devices[device]);
  const auto [e, f] = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
  if (e == expected.end() && f == found.end()) return;
  const std::int64_t time = e == expected.end() ? f->first
                            : f == found.end()  ? e->first
                                                : std::min(e->first, f->first);
  evidence.violation("device {}: memory is not what passes and messages hold at {} ps", device, time);
}

}  // namespace

void check_memory(TraceEvidence& evidence) {
  std::vector<Curve> changes(evidence.trace.devices.size());
  for (std::size_t s = 0; s < evidence.plan.stages.size(); ++s) {
    const auto& devices = evidence.plan.stages[s].devices;
    std::map<DeviceId, StageOnDevice> held;
    for (std::size_t i = 0; i < devices.size(); ++i)
      held.try_emplace(devices[i], evidence, StageId(s), i, changes[devices[i].index()]);
    for (const ReplicaShare& share : evidence.shares(StageId(s)))
      for (const DeviceId device : share.group) held.at(device).add(share.micro_batch);
  }
  for (std::size_t d = 0; d < changes.size(); ++d) {
    check_points(evidence, d);
    compare(evidence, d, summed(changes[d]));
  }
}

}  // namespace penstock::check
