#include "penstock/cost/length_times.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::cost {
namespace {

using core::Seconds;

/// Powers of two below an eighth of the sequence, then its eighths.
std::vector<std::int64_t> knots_of(std::int64_t sequence) {
  constexpr std::int64_t kParts = 8;
  std::vector<std::int64_t> out;
  for (std::int64_t tokens = 1; tokens * kParts < sequence; tokens *= 2) out.push_back(tokens);
  for (std::int64_t part = 1; part <= kParts; ++part) {
    const std::int64_t tokens = (sequence * part + kParts - 1) / kParts;
    if (out.empty() || out.back() < tokens) out.push_back(tokens);
  }
  return out;
}

/// Neighbours of a value, and how far it is from the first to the second.
struct LengthInterval {
  std::int64_t low, high;
  double share;
};

LengthInterval between(const std::vector<std::int64_t>& knots, double value) {
  const double inside =
      std::clamp(value, static_cast<double>(knots.front()), static_cast<double>(knots.back()));
  const auto above =
      std::ranges::find_if(knots, [&](auto knot) { return static_cast<double>(knot) >= inside; });
  if (above == knots.begin() || static_cast<double>(*above) == inside) return {*above, *above, 0};
  const std::int64_t low = *std::prev(above), high = *above;
  return {low, high, (inside - static_cast<double>(low)) / static_cast<double>(high - low)};
}

Seconds mix(Seconds a, Seconds b, double share) {
  return a + (b - a) * share;
}

OpTime mix(const OpTime& a, const OpTime& b, double share) {
  return {mix(a.forward, b.forward, share), mix(a.input_gradient, b.input_gradient, share),
          mix(a.weight_gradient, b.weight_gradient, share), mix(a.recompute, b.recompute, share)};
}

std::vector<StageTime> mix(std::vector<StageTime> a, const std::vector<StageTime>& b, double share) {
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = {mix(a[i].compute, b[i].compute, share), mix(a[i].collectives, b[i].collectives, share)};
  return a;
}

}  // namespace

ShorterModels::ShorterModels(const Problem& problem)
    : problem_(problem), sequence_(layout::sequence(problem.graph)) {
  if (sequence_ == 0)
    throw core::BadInput(problem.graph.name() + " has no attention, so its samples are no sequences");
  if (!problem.costs.goes_by_extents())
    throw core::BadInput("costs (" + problem.costs.source() +
                         ") are of full samples, whatever their lengths");
}

std::shared_ptr<const graph::OpGraph> ShorterModels::at(std::int64_t tokens, std::int64_t keys) {
  const std::lock_guard lock(mutex_);
  auto& graph = known_[{tokens, keys}];
  if (graph == nullptr)
    graph = std::make_shared<const graph::OpGraph>(
        layout::shortened(problem_.graph, {static_cast<double>(tokens), static_cast<double>(keys)}));
  return graph;
}

LengthTimes::LengthTimes(ShorterModels& models, const plan::Stage& stage, OperatorSets sets,
                         std::vector<std::int64_t> samples)
    : models_(models),
      stage_(stage),
      sets_(std::move(sets)),
      samples_(std::move(samples)),
      knots_(knots_of(models.sequence())) {}

const std::vector<StageTime>& LengthTimes::at(Knot knot, std::size_t replica) {
  const std::lock_guard lock(mutex_);
  auto& replicas = known_[knot];
  if (replicas.empty()) {
    const auto [tokens, keys] = knot;
    const Problem& whole = models_.whole();
    const bool full = tokens == models_.sequence() && keys == tokens;
    const auto graph = full ? nullptr : models_.at(tokens, keys);
    const Problem problem{full ? whole.graph : *graph, whole.cluster, whole.costs, whole.training,
                          whole.memory};
    ReplicaTimes times(problem, stage_, sets_);
    for (std::size_t r = 0; r < samples_.size(); ++r) replicas.push_back(times.times(r, samples_[r]));
  }
  return replicas[replica];
}

std::vector<StageTime> LengthTimes::between_keys(std::int64_t tokens, double keys, std::size_t replica) {
  const LengthInterval k = between(knots_, keys);
  const std::vector<StageTime>& low = at({tokens, k.low}, replica);
  return k.share == 0 ? low : mix(low, at({tokens, k.high}, replica), k.share);
}

std::vector<StageTime> LengthTimes::times(std::size_t replica, const layout::SampleFill& fill) {
  const LengthInterval t = between(knots_, fill.tokens);
  auto low = between_keys(t.low, fill.keys, replica);
  return t.share == 0 ? low : mix(std::move(low), between_keys(t.high, fill.keys, replica), t.share);
}

}  // namespace penstock::cost
