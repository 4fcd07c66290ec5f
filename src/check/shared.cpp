#include <algorithm>

#include "evidence.hpp"
#include "penstock/cost/shared_reduction.hpp"
#include "penstock/plan/colocated.hpp"

namespace penstock::check {
namespace {

using plan::SharedParameters;

/// One sum among stages, as the trace shows it.
class SharedSum {
 public:
  SharedSum(TraceEvidence& evidence, const SharedParameters& shared, std::vector<const Span*> spans)
      : evidence_(evidence),
        shared_(shared),
        home_(plan::home(shared, evidence.plan).index()),
        members_(plan::devices(shared, evidence.plan)),
        first_(plan::summed_first(shared, evidence.plan)),
        behind_(plan::behind_pipeline(evidence.plan)),
        moves_(cost::shared_reduction(evidence.problem, evidence.plan, shared)),
        spans_(std::move(spans)) {
    std::stable_sort(spans_.begin(), spans_.end(), [](const Span* a, const Span* b) {
      return std::tie(a->start, a->end) < std::tie(b->start, b->end);
    });
  }

  void check(bool travels) {
    travels ? check_messages() : check_closed();
    for (std::size_t a = 0; a < members_.size() && evidence_.violations.empty(); ++a)
      check_device(members_[a], travels);
  }

 private:
  void check_closed() {
    const auto exact = core::to_picoseconds(cost::time(evidence_.problem, moves_));
    for (const DeviceId device : members_)
      if (std::count_if(spans_.begin(), spans_.end(), [&](auto s) { return s->device == device; }) != 1)
        return evidence_.violation("device {} does not sum the parameters of stage {} once", device.index(),
                                   home_);
    const Span& one = *spans_.front();
    for (const Span* span : spans_)
      if (span->start != one.start || span->end != one.end || span->bytes != moves_.bytes ||
          span->peer.valid())
        return evidence_.violation("the sum of parameters of stage {} among stages is not one", home_);
    if (spans_.size() != members_.size())
      return evidence_.violation("{} devices sum the parameters of stage {} where {} share them",
                                 spans_.size(), home_, members_.size());
    if (evidence_.steady_messages() && std::abs((one.end - one.start - exact).value()) > 1)
      evidence_.violation("the sum of parameters of stage {} takes {} ps where {} are due", home_,
                          (one.end - one.start).value(), exact.value());
    for (const DeviceId device : members_)
      if (one.start < computed(device))
        return evidence_.violation("the sum of parameters of stage {} starts before device {} has its part",
                                   home_, device.index());
  }

  void check_messages() {
    std::size_t seen = 0;
    for (const auto& group : moves_.groups) {
      if (group.size() < 2) continue;  // a device's stages share it: nothing travels
      std::vector<const Span*> own;
      std::int64_t moved = 0;
      for (const Span* span : spans_)
        if (inside(group, span->device) && inside(group, span->peer))
          own.push_back(span), moved += span->bytes.value();
      const std::int64_t least = 2 * (static_cast<std::int64_t>(group.size()) - 1) * moves_.bytes.value();
      const bool rounds = evidence_.options.collective.rounds_up();
      if (moved < least || moved > least + (rounds ? static_cast<std::int64_t>(own.size()) : 0))
        return evidence_.violation("the sum of parameters of stage {} moves {} bytes where {} are due", home_,
                                   moved, least);
      if (own.empty() || !reaches_all(own, group))
        return evidence_.violation("the sum of parameters of stage {} does not reach all", home_);
      seen += own.size();
    }
    if (seen != spans_.size())
      evidence_.violation("the sum of parameters of stage {} leaves the devices that share them", home_);
  }

  static bool inside(const std::vector<DeviceId>& group, DeviceId device) {
    return std::find(group.begin(), group.end(), device) != group.end();
  }

  bool reduces(const Span& span, DeviceId device) const {
    return span.kind == TaskKind::all_reduce && !span.shared &&
           (span.peer.valid() ? span.peer : span.device) == device;
  }

  /// Time at which the device has its own part and has ended earlier all-reduces of its stages: those of all
  /// stages, or only of those after the pipeline.
  Picoseconds computed(DeviceId device) const {
    Picoseconds out;
    const auto stages = plan::stages_on(shared_, evidence_.plan, device);
    for (const PassRun& pass : evidence_.ran[device.index()]) {
      const bool last = pass.span->kind == TaskKind::backward || pass.span->kind == TaskKind::weight_gradient;
      if (last && std::find(stages.begin(), stages.end(), pass.span->stage) != stages.end())
        out = std::max(out, pass.span->end);
    }
    for (const Span& span : evidence_.trace.spans)
      if (reduces(span, device) && (!first_ || span.stage.index() >= behind_)) out = std::max(out, span.end);
    return out;
  }

  void check_device(DeviceId device, bool travels) {
    Picoseconds first(INT64_MAX), last;
    for (const Span* span : spans_) {
      if (span->device == device || span->peer == device) first = std::min(first, span->start);
      if ((travels ? span->peer : span->device) == device) last = std::max(last, span->end);
    }
    if (first < computed(device))
      return evidence_.violation("device {} sums shared parameters of stage {} that it still computes",
                                 device.index(), home_);
    for (const Span& span : evidence_.trace.spans)
      if (first_ && reduces(span, device) && span.stage.index() < behind_ && span.start < last)
        return evidence_.violation("device {} reduces stage {} before the sum of stage {}, which comes first",
                                   device.index(), span.stage.index(), home_);
    for (const StageId stage : plan::stages_on(shared_, evidence_.plan, device))
      if (const PassRun* step = evidence_.find(device, stage, TaskKind::step, -1); step && step->first < last)
        evidence_.violation("device {} updates stage {} before what it shares is summed", device.index(),
                            stage.index());
  }

  TraceEvidence& evidence_;
  const SharedParameters& shared_;
  std::size_t home_;
  std::vector<DeviceId> members_;
  bool first_;  ///< before all-reduces of stages that are not after the pipeline
  std::size_t behind_;
  cost::GradientReduction moves_;
  std::vector<const Span*> spans_;
};

}  // namespace

/// Checks one owner per stage: with several sums, the sum of a span is unknown.
void check_shared(TraceEvidence& evidence) {
  std::map<StageId, std::vector<const Span*>> seen;
  for (const Span& span : evidence.trace.spans)
    if (span.shared) seen[span.stage].push_back(&span);
  std::map<StageId, std::vector<const SharedParameters*>> due;
  for (const SharedParameters& shared : evidence.shared)
    if (!evidence.in_turn && plan::devices(shared, evidence.plan).size() > 1)
      due[plan::home(shared, evidence.plan)].push_back(&shared);
  for (const auto& [stage, spans] : seen)
    if (!due.contains(stage))
      return evidence.violation("stage {} sums parameters that no other stage uses", stage.index());
  for (const auto& [stage, list] : due)
    if (list.size() == 1)
      SharedSum(evidence, *list.front(), seen[stage]).check(evidence.options.collective.travels());
}

}  // namespace penstock::check
