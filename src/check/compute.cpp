#include <algorithm>
#include <optional>

#include "crowding.hpp"
#include "penstock/cost/pass_pieces.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::check {
namespace {

core::Seconds seconds_of(TaskKind kind, const cost::OpTime& time) {
  if (kind == TaskKind::forward) return time.forward;
  if (kind == TaskKind::recompute) return time.recompute;
  if (kind == TaskKind::backward) return time.backward();
  return kind == TaskKind::input_gradient ? time.input_gradient : time.weight_gradient;
}

/// Intervals in which a device sends, receives or reduces.
Intervals communication(const trace::Trace& trace, DeviceId device) {
  Intervals all, out;
  for (const Span& span : trace.spans)
    if (!computes(span.kind) && (span.device == device || span.peer == device))
      all.emplace_back(span.start.value(), span.end.value());
  std::sort(all.begin(), all.end());
  for (const auto& [start, end] : all)
    if (out.empty() || start > out.back().second)
      out.emplace_back(start, end);
    else
      out.back().second = std::max(out.back().second, end);
  return out;
}

/// One device against its row.
class RankCheck {
 public:
  RankCheck(TraceEvidence& evidence, std::size_t rank, std::size_t i)
      : evidence_(evidence),
        passes_(evidence.asked.at({rank, i}).passes),
        reductions_(evidence.asked.at({rank, i}).reductions),
        number_(i),
        device_(evidence.devices(rank)[i]),
        ran_(evidence.ran[device_.index()]),
        pace_(pace(evidence, device_)) {}

  void check() {
    if (ran_.size() != passes_.size())
      return evidence_.violation("device {} runs {} passes where its order has {}", device_.index(),
                                 ran_.size(), passes_.size());
    for (std::size_t p = 0; p < passes_.size(); ++p) {
      const Span& span = *ran_[p].span;
      if (span.kind != passes_[p].kind || span.stage != passes_[p].stage ||
          span.micro_batch != passes_[p].micro_batch)
        return evidence_.violation("device {} leaves its order at pass {}", device_.index(), p);
      if (p > 0 && span.start < ran_[p - 1].span->end)
        return evidence_.violation("device {} runs passes {} and {} at once", device_.index(), p - 1, p);
      if (passes_[p].joined && span.start > ran_[p - 1].span->end)
        evidence_.violation("device {} pauses within the pair of passes {} and {}", device_.index(), p - 1,
                            p);
      if (evidence_.perfect()) check_duration(p);
    }
  }

 private:
  static DevicePace pace(const TraceEvidence& evidence, DeviceId device) {
    const double slowdown = evidence.problem.cluster.type(device).overlap_slowdown;
    return DevicePace(evidence, device, slowdown > 1 ? communication(evidence.trace, device) : Intervals(),
                      slowdown);
  }
  /// The pass that ends a stage's mini-batch is cut at the buckets, after each of which a group's devices
  /// wait for the slowest.
  bool is_cut(std::size_t p) const {
    const auto ends = [&](const DeviceTasks::ScheduledReduction& reduction) {
      return reduction.after == p && reduction.stage == passes_[p].stage;
    };
    return !passes_[p].joined && std::any_of(reductions_.begin(), reductions_.end(), ends);
  }
  core::Seconds exact_seconds(std::size_t p) const {
    const DeviceTasks::ScheduledPass& pass = passes_[p];
    const plan::Stage& stage = evidence_.plan.stages[pass.stage.index()];
    if (pass.kind == TaskKind::step)
      return cost::step_time(evidence_.problem, stage,
                             plan::Mesh(stage).coordinate(number_, plan::MeshDim::tensor),
                             evidence_.problem.cluster.type(device_));
    core::Seconds sum;
    for (const cost::OpTime& time : evidence_.pieces(pass.stage, number_, pass.micro_batch, is_cut(p)))
      sum += seconds_of(pass.kind, time);
    return sum;
  }

  /// A pass that was cut is rounded at each bucket, at each operator beside collectives that take links, and
  /// at each change of its pace. If the pace is unknown, or beside such collectives, it is only checked to be
  /// no faster than without neighbours. It waits for messages that arrive meanwhile, except those of ZeRO,
  /// which move while it computes.
  void check_duration(std::size_t p) {
    const Span& span = *ran_[p].span;
    const plan::Stage& stage = evidence_.plan.stages[span.stage.index()];
    const bool beside = evidence_.links() && cost::PassPieces::may_wait(stage);
    const auto exact = static_cast<double>(to_picoseconds(exact_seconds(p)).value());
    const DevicePace::PassProgress work = pace_.work(span);
    const auto slack = static_cast<double>(std::ssize(evidence_.buckets(passes_[p].stage)) +
                                           2 * work.changes + (beside ? std::ssize(stage.operators) : 0));
    auto took = static_cast<double>((span.end - span.start).value());
    if (beside && !plan::replica_placement(stage).shards_gradients())
      took -= static_cast<double>(communicating(evidence_, span).value());
    if (pace_.known() && !beside ? std::abs(work.done - exact) > slack : took < exact - slack)
      evidence_.violation("device {}: pass {} takes {} ps where its operators take {}", device_.index(), p,
                          (span.end - span.start).value(), to_picoseconds(exact_seconds(p)).value());
  }

  TraceEvidence& evidence_;
  const std::vector<DeviceTasks::ScheduledPass>& passes_;
  const std::vector<DeviceTasks::ScheduledReduction>& reductions_;
  std::size_t number_;  ///< of the device in its rank
  DeviceId device_;
  const std::vector<PassRun>& ran_;
  DevicePace pace_;
};

/// Within a stage and micro-batch: forward, recomputation, backward or input gradient, weight gradient.
void check_dependences(TraceEvidence& evidence) {
  for (const auto& passes : evidence.ran)
    for (const PassRun& pass : passes) {
      const Span& span = *pass.span;
      const auto after = [&](TaskKind kind) {
        const PassRun* before = evidence.find(span.device, span.stage, kind, span.micro_batch);
        if (before && before->span->end > span.start)
          evidence.violation("device {}: the {} of micro-batch {} on stage {} starts before its {} has ended",
                             span.device.index(), name(span.kind), span.micro_batch, span.stage.index(),
                             name(kind));
      };
      if (span.kind == TaskKind::forward || span.kind == TaskKind::step) continue;
      after(TaskKind::forward);
      if (span.kind == TaskKind::weight_gradient) after(TaskKind::input_gradient);
      if (span.kind != TaskKind::recompute) after(TaskKind::recompute);
    }
}

/// No device leaves the k-th barrier before all devices with a k-th barrier have reached it.
void check_barriers(TraceEvidence& evidence) {
  struct BarrierTimes {
    Picoseconds came;
    std::optional<Picoseconds> left;
  };
  std::vector<BarrierTimes> barriers;
  for (const auto& [where, asked] : evidence.asked) {
    const auto& ran = evidence.ran[evidence.devices(where.first)[where.second].index()];
    for (std::size_t k = 0; k < asked.barriers.size(); ++k) {
      if (k >= barriers.size()) barriers.resize(k + 1);
      const std::size_t p = asked.barriers[k];
      if (p > 0) barriers[k].came = std::max(barriers[k].came, ran[p - 1].span->end);
      if (p < ran.size())
        barriers[k].left = std::min(barriers[k].left.value_or(ran[p].span->start), ran[p].span->start);
    }
  }
  for (std::size_t k = 0; k < barriers.size(); ++k)
    if (barriers[k].left && *barriers[k].left < barriers[k].came)
      evidence.violation("barrier {} is left before all have come to it", k);
}

/// No device of a replica starts a pass before all have ended the one before; a pair counts as one pass. If a
/// rank goes on from a colocated stage to another, or back, this holds for the replicas of both.
void check_groups(TraceEvidence& evidence) {
  for (const auto& [where, asked] : evidence.asked) {
    const auto& devices = evidence.devices(where.first);
    for (std::size_t p = 1; p < asked.passes.size(); ++p)
      for (const StageId stage : {asked.passes[p - 1].stage, asked.passes[p].stage}) {
        const auto size = static_cast<std::size_t>(evidence.plan.stages[stage.index()].replica_size());
        const std::size_t first = where.second / size * size;
        for (std::size_t i = first; size > 1 && !asked.passes[p].joined && i < first + size; ++i)
          if (evidence.ran[devices[where.second].index()][p].span->start <
              evidence.ran[devices[i].index()][p - 1].span->end)
            return evidence.violation("device {} starts pass {} before its group is done with the one before",
                                      devices[where.second].index(), p);
      }
  }
}

}  // namespace

void check_compute(TraceEvidence& evidence) {
  for (const auto& [where, asked] : evidence.asked) RankCheck(evidence, where.first, where.second).check();
  for (std::size_t d = 0; d < evidence.ran.size(); ++d)
    if (!evidence.ran[d].empty() && evidence.trace.devices[d].stages.empty())
      evidence.violation("device {} computes without a stage", d);
  if (!evidence.violations.empty()) return;
  evidence.pair_up();
  check_dependences(evidence);
  check_barriers(evidence);
  check_groups(evidence);
}

}  // namespace penstock::check
