#include "explain/device_time.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "penstock/cost/utilisation.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/plan/mesh.hpp"
#include "penstock/sim/perturbation.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::Picoseconds;
using core::Seconds;
using trace::Span;
using trace::TaskKind;
using Spans = std::vector<std::pair<Picoseconds, Picoseconds>>;

double seconds_of(TaskKind kind, const cost::OpTime& time) {
  switch (kind) {
    case TaskKind::forward:
      return time.forward.value();
    case TaskKind::backward:
      return time.backward().value();
    case TaskKind::input_gradient:
      return time.input_gradient.value();
    case TaskKind::weight_gradient:
      return time.weight_gradient.value();
    case TaskKind::recompute:
      return time.recompute.value();
    default:
      return 0;
  }
}

template <class Array>
auto& at(Array& parts, TimePart part) {
  return parts[static_cast<std::size_t>(part)];
}

/// Divides a whole number of picoseconds by shares; sums are rounded, so that the parts add up exactly.
void deal(Picoseconds whole, const std::array<double, kTimeParts>& shares, PartTimes& out) {
  double all = 0;
  std::size_t last = 0;
  for (std::size_t p = 0; p < kTimeParts; ++p)
    if (shares[p] > 0) all += shares[p], last = p;
  double sum = 0;
  std::int64_t dealt = 0;
  for (std::size_t p = 0; p <= last; ++p) {
    sum += shares[p];
    const auto until = p == last
                           ? whole.value()
                           : std::min(whole.value(), static_cast<std::int64_t>(std::llround(
                                                         static_cast<double>(whole.value()) * (sum / all))));
    out[p] += Picoseconds(until - dealt);
    dealt = until;
  }
}

/// Occupied time of a device. Later additions count only where it was idle.
class OccupiedTime {
 public:
  explicit OccupiedTime(Spans work) : busy_(std::move(work)) { length_ = cover(); }
  /// Adds spans and returns the time they add.
  Picoseconds add(const Spans& more) {
    busy_.insert(busy_.end(), more.begin(), more.end());
    const Picoseconds before = length_;
    length_ = cover();
    return length_ - before;
  }

 private:
  Picoseconds cover() {
    std::ranges::sort(busy_);
    Picoseconds total, reached;
    for (const auto& [start, end] : busy_) {
      total += std::max(end, reached) - std::max(std::min(start, end), reached);
      reached = std::max(reached, end);
    }
    return total;
  }
  Spans busy_;
  Picoseconds length_;
};

bool may_slow(const cost::Problem& problem, const SimulationOptions& options) {
  if (options.perturbation) return !options.perturbation->lengths;
  return (options.crowding && problem.costs.crowding()) ||
         std::ranges::any_of(problem.cluster.types(), [](const auto& t) { return t.overlap_slowdown != 1; });
}

double flops_of(const graph::OpGraph& graph, const plan::Stage& stage) {
  core::Flops sum;
  for (const core::OpId id : stage.operators) sum += graph::model_flops(graph.op(id));
  return sum.value();
}

/// Part for the waits of a stage's passes if costs do not state them.
TimePart group_part(const plan::Stage& stage) {
  if (stage.tensor_parallel > 1) return TimePart::tensor;
  if (stage.experts_apart()) return TimePart::experts;
  return stage.context_parallel > 1 ? TimePart::context : TimePart::reduction;
}

}  // namespace

DeviceTime::DeviceTime(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options,
                       double filled)
    : problem_(problem), plan_(plan), filled_(filled), slows_(may_slow(problem, options)) {
  for (const cluster::DeviceType& type : problem.cluster.types())
    peaks_.push_back(cost::peak_rate(problem.graph, type));
  for (const plan::Stage& stage : plan.stages) {
    StagePasses& out = stages_.emplace_back(StagePasses{program::SampleSharing(plan, stage), {}, {}, {}});
    out.flops = flops_of(problem.graph, stage);
    std::vector<std::int64_t> samples;
    for (std::int64_t r = 0; r < out.sharing.replicas; ++r)
      samples.push_back(std::max<std::int64_t>(1, out.sharing.size(r)));
    out.passes = cost::pass_parts(problem, stage, samples);
    for (std::size_t i = 0; i < stage.devices.size(); ++i) out.place[stage.devices[i]] = i;
  }
}

PartTimes DeviceTime::of(const trace::ByDevice& run, DeviceId device) const {
  const DeviceActivity activity = this->activity(run, device);
  PartTimes out{};
  Spans work;
  Seconds model;
  Picoseconds reached;
  for (const Span& span : activity.work) {
    work.emplace_back(span.start, span.end);
    model += model_time(span);
    const Picoseconds start = std::max(span.start, reached);
    if (span.end <= start) continue;
    deal(span.end - start, shares(span), out);
    reached = span.end;
  }
  OccupiedTime occupied(std::move(work));
  at(out, TimePart::pipeline) += occupied.add(activity.pipeline);
  at(out, TimePart::reduction) += occupied.add(activity.reduction);
  if (!activity.groups.empty()) {
    const auto stage =
        std::ranges::find_if(stages_, [&](const StagePasses& s) { return s.place.contains(device); });
    const auto& of = plan_.stages[static_cast<std::size_t>(stage - stages_.begin())];
    at(out, group_part(of)) += occupied.add(activity.groups);
  }
  Picoseconds& kernels = at(out, TimePart::kernels);
  at(out, TimePart::model) = std::min(kernels, to_picoseconds(model));
  kernels -= at(out, TimePart::model);
  return out;
}

DeviceTime::DeviceActivity DeviceTime::activity(const trace::ByDevice& run, DeviceId device) const {
  DeviceActivity out;
  run.visit(device, [&](const Span& span) {
    if (computes(span.kind)) return out.work.push_back(span);
    auto& messages = span.kind == TaskKind::transfer     ? out.pipeline
                     : span.kind == TaskKind::all_reduce ? out.reduction
                                                         : out.groups;
    messages.emplace_back(span.start, span.end);
  });
  std::ranges::sort(out.work, {},
                    [](const Span& s) { return std::tuple(s.start, s.end, s.kind, s.stage, s.micro_batch); });
  return out;
}

DeviceTime::Shares DeviceTime::shares(const Span& span) const {
  Shares out{};
  if (span.kind == TaskKind::step) {
    at(out, TimePart::step) = 1;
    return out;
  }
  const cost::PassParts& parts = stages_[span.stage.index()].passes[replica(span)];
  add_waits(span, parts, out);
  add_kernels(span, parts, out);
  return out;
}

void DeviceTime::add_waits(const Span& span, const cost::PassParts& parts, Shares& out) const {
  const double waits = to_seconds(span.collective).value();
  const std::array<std::pair<TimePart, double>, 4> known = {
      {{TimePart::tensor, seconds_of(span.kind, parts.tensor)},
       {TimePart::experts, seconds_of(span.kind, parts.experts)},
       {TimePart::context, seconds_of(span.kind, parts.context)},
       {TimePart::reduction, seconds_of(span.kind, parts.replicas)}}};
  double all = 0;
  for (const auto& [part, time] : known) all += time;
  for (const auto& [part, time] : known)
    if (all > 0) at(out, part) += waits * (time / all);
  if (!(all > 0)) at(out, group_part(plan_.stages[span.stage.index()])) += waits;
}

void DeviceTime::add_kernels(const Span& span, const cost::PassParts& parts, Shares& out) const {
  constexpr double kRounding = 1e-9;  // seconds, and share of a pass
  const double time = std::max(0.0, to_seconds(span.end - span.start - span.collective).value());
  const std::array<double, 3> known = {seconds_of(span.kind, parts.kernels),
                                       seconds_of(span.kind, parts.sustained),
                                       seconds_of(span.kind, parts.host)};
  const double all = known[0] + known[1] + known[2];
  double beyond = time - all > kRounding + kRounding * time ? time - all : 0;
  if (slows_)
    at(out, TimePart::slowed) = beyond;
  else if (seconds_of(span.kind, parts.replicas) > 0)  // buckets wait more often than whole passes
    at(out, TimePart::reduction) += beyond;
  else
    beyond = 0;
  constexpr std::array kParts = {TimePart::kernels, TimePart::sustained, TimePart::host};
  for (std::size_t k = 0; k < kParts.size(); ++k) {
    const double share = all > 0 ? known[k] / all : k == 0 ? 1 : 0;
    at(out, span.kind == TaskKind::recompute ? TimePart::recomputation : kParts[k]) +=
        (time - beyond) * share;
  }
}

/// Counted only in forward passes, for all of a micro-batch.
Seconds DeviceTime::model_time(const Span& span) const {
  if (span.kind != TaskKind::forward) return {};
  const plan::Stage& stage = plan_.stages[span.stage.index()];
  const StagePasses& of = stages_[span.stage.index()];
  const core::FlopRate peak = peaks_[problem_.cluster.devices()[span.device.index()].type];
  if (!(peak.value() > 0)) return {};
  const std::size_t member = plan::Mesh(stage).coordinate(of.place.at(span.device), plan::MeshDim::tensor);
  const double part =
      cost::part_of(stage, member) * stage.tensor_parallel / static_cast<double>(of.sharing.group);
  const auto samples = static_cast<double>(of.sharing.size(static_cast<std::int64_t>(replica(span))));
  return core::Flops(of.flops * samples * part * filled_) / peak;
}

std::size_t DeviceTime::replica(const Span& span) const {
  const plan::Stage& stage = plan_.stages[span.stage.index()];
  return plan::Mesh(stage).coordinate(stages_[span.stage.index()].place.at(span.device), plan::MeshDim::data);
}

}  // namespace penstock::sim
