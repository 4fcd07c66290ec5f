#include "crowding.hpp"

#include <algorithm>

#include "penstock/cost/sharding.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::check {
namespace {

std::int64_t length(const Span& span) {
  return (span.end - span.start).value();
}

bool starts_earlier(const Span* a, const Span* b) {
  return a->start < b->start;
}

/// A group waits for its slowest after every bucket.
bool waits_within(const TraceEvidence& evidence, StageId stage) {
  return evidence.plan.stages[stage.index()].replica_size() > 1 && evidence.buckets(stage).size() > 1;
}

}  // namespace

DevicePace::DevicePace(const TraceEvidence& evidence, DeviceId device, Intervals communicates, double overlap)
    : communicates_(std::move(communicates)),
      overlap_(overlap),
      crowding_(evidence.options.crowding ? evidence.problem.costs.crowding() : nullptr) {
  for (const auto& [start, end] : communicates_) changes_.insert(changes_.end(), {start, end});
  if (crowding_ != nullptr) add_neighbours(evidence, device);
  std::sort(changes_.begin(), changes_.end());
  changes_.erase(std::unique(changes_.begin(), changes_.end()), changes_.end());
}

void DevicePace::add_neighbours(const TraceEvidence& evidence, DeviceId device) {
  const cluster::Cluster& cluster = evidence.problem.cluster;
  const cost::StageUses stage_uses(evidence.problem);
  for (std::size_t s = 0; s < evidence.plan.stages.size(); ++s) {
    const auto& devices = evidence.plan.stages[s].devices;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (cluster.node(devices[i]) != cluster.node(device)) continue;
      const auto replica = plan::Mesh(evidence.plan.stages[s]).coordinate(i, plan::MeshDim::data);
      uses_[{devices[i], StageId(s)}] = stage_uses.of(
          evidence.plan.stages[s], replica, std::max<std::int64_t>(1, evidence.samples(StageId(s), i)));
      if (waits_within(evidence, StageId(s))) known_ = false;
    }
  }
  for (std::size_t d = 0; d < evidence.ran.size(); ++d) {
    if (d == device.index() || cluster.node(DeviceId(d)) != cluster.node(device)) continue;
    for (const PassRun& pass : evidence.ran[d]) {
      beside_.push_back(pass.span);
      changes_.insert(changes_.end(), {pass.span->start.value(), pass.span->end.value()});
      longest_ = std::max(longest_, length(*pass.span));
    }
  }
  std::stable_sort(beside_.begin(), beside_.end(), starts_earlier);
}

cost::UseShares DevicePace::uses(const Span& span) const {
  if (span.kind == TaskKind::step) return {{0, 0, 1}};  // an update moves bytes
  const auto found = uses_.find({span.device, span.stage});
  if (found == uses_.end()) return {};
  const cost::PassUses& passes = found->second;
  switch (span.kind) {
    case TaskKind::forward:
      return passes.forward;
    case TaskKind::recompute:
      return passes.recompute;
    case TaskKind::backward:
      return passes.backward;
    case TaskKind::input_gradient:
      return passes.input_gradient;
    default:
      return passes.weight_gradient;
  }
}

/// Passes of neighbours at that moment.
std::vector<cost::UseShares> DevicePace::running(std::int64_t time) const {
  std::vector<cost::UseShares> out;
  const auto later = std::partition_point(beside_.begin(), beside_.end(),
                                          [&](const Span* span) { return span->start.value() <= time; });
  for (auto it = later; it != beside_.begin();) {
    const Span& span = **--it;
    if (span.start.value() + longest_ < time) break;
    if (span.end.value() > time && uses(span).busy() > 0) out.push_back(uses(span));
  }
  return out;
}

/// Combines every kernel of the pass with every choice of one kernel of each neighbour, by their shares of
/// time.
double DevicePace::slowdown(const cost::UseShares& own, std::int64_t time) const {
  const auto others = running(time);
  double busy = 0;
  std::map<int, double> chance = {{0, 1.0}};  // key: need of all neighbours, in halves of a device
  for (const cost::UseShares& other : others) {
    busy += other.busy();
    std::map<int, double> with;
    for (const auto& [asked, share] : chance)
      for (const int half : {0, 1, 2})
        with[asked + half] += share * other.at[static_cast<std::size_t>(half)] / other.busy();
    chance.swap(with);
  }
  double factor = 1 - own.busy();  // waiting is not slowed
  for (const int half : {0, 1, 2})
    for (const auto& [asked, share] : chance)
      factor += own.at[static_cast<std::size_t>(half)] * share *
                (others.empty() ? 1 : crowding_->slowdown(half / 2.0, busy, asked / 2.0));
  return factor;
}

DevicePace::PassProgress DevicePace::work(const Span& span) const {
  PassProgress out;
  const cost::UseShares own = crowding_ == nullptr ? cost::UseShares{} : uses(span);
  auto change = std::upper_bound(changes_.begin(), changes_.end(), span.start.value());
  auto talk =
      std::upper_bound(communicates_.begin(), communicates_.end(), span.start.value(),
                       [](std::int64_t time, const auto& interval) { return time < interval.second; });
  for (std::int64_t from = span.start.value(); from < span.end.value();) {
    const std::int64_t to =
        change == changes_.end() ? span.end.value() : std::min(span.end.value(), *change++);
    while (talk != communicates_.end() && talk->second <= from) ++talk;
    double factor = talk != communicates_.end() && talk->first <= from ? overlap_ : 1;
    if (crowding_ != nullptr) factor *= slowdown(own, from);
    out.done += static_cast<double>(to - from) / factor;
    from = to;
    out.changes += from < span.end.value();
  }
  return out;
}

}  // namespace penstock::check
