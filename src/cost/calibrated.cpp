#include "penstock/cost/calibrated.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "experts.hpp"
#include "kernel_curves.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/cold_share.hpp"
#include "penstock/cost/crowding.hpp"
#include "penstock/cost/leave_one_out.hpp"
#include "penstock/cost/op_shard.hpp"
#include "penstock/graph/ties.hpp"
#include "quantized.hpp"

namespace penstock::cost {
namespace {

using cluster::Precision;
using graph::OpKind;

constexpr double kUnknown = 1;  ///< error taken where none was measured: a factor of 2. AIConfigurator's 90th
                                ///< percentile far beyond its data is 1.12

TimeOrigin origin_of(const KernelPrediction& predicted) {
  if (predicted.measured) return TimeOrigin::measured;
  const bool inside = predicted.fold == FoldKind::samples_inside || predicted.fold == FoldKind::shape_inside;
  return inside ? TimeOrigin::interpolated : TimeOrigin::extrapolated;
}

core::Seconds time_in(const OpTime& time, graph::Pass pass) {
  return pass == graph::Pass::forward          ? time.forward
         : pass == graph::Pass::input_gradient ? time.input_gradient
                                               : time.weight_gradient;
}

core::Bytes share_of(core::Bytes bytes, double share) {
  return core::Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.value()) * share));
}

/// Everything that the way to an estimate depends on.
struct WayKey {
  OpKind kind;
  Precision precision;
  graph::Attributes attributes;
  KernelWork work;
  bool divided;
};

bool operator==(const WayKey& a, const WayKey& b) {
  return a.kind == b.kind && a.precision == b.precision && a.divided == b.divided &&
         a.work.flops == b.work.flops && a.work.moved == b.work.moved && a.work.weights == b.work.weights &&
         a.attributes == b.attributes;
}

struct WayHash {
  std::size_t operator()(const WayKey& key) const {
    std::size_t out = static_cast<std::size_t>(key.kind) * 31 + static_cast<std::size_t>(key.precision);
    const auto mix = [&out](std::int64_t value) {
      out = (out ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15u, out ^= out >> 29;
    };
    mix(static_cast<std::int64_t>(graph::digest(key.attributes)));
    mix(key.work.moved.value());
    mix(static_cast<std::int64_t>(std::hash<double>()(key.work.flops[0].value())));
    mix(key.divided);
    return out;
  }
};

std::set<std::string> words(std::string_view text) {
  std::set<std::string> out;
  std::string word;
  for (const char c : std::string(text) + " ") {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      word += static_cast<char>(std::tolower(byte));
    } else if (!word.empty()) {
      out.insert(std::exchange(word, {}));
    }
  }
  return out;
}

/// Through the smallest and the largest batch, moved up until no other is above it.
std::optional<MemoryLine> line_above(const std::vector<KernelPoint>& points, graph::Pass pass) {
  std::vector<const KernelPoint*> own;
  for (const KernelPoint& point : points)
    if (point.pass == pass) own.push_back(&point);
  if (own.empty()) return {};
  const KernelPoint &first = *own.front(), &last = *own.back();
  const std::int64_t samples = last.samples - first.samples,
                     bytes = (last.workspace - first.workspace).value();
  MemoryLine line{
      {},
      samples > 0 ? core::Bytes(std::max<std::int64_t>(0, bytes / samples)) : last.workspace / last.samples};
  for (const KernelPoint* point : own)
    line.fixed = std::max(line.fixed, point->workspace - line.each * point->samples);
  return line;
}

}  // namespace

/// The curves, the errors to expect, and the ways found so far: one per requested shape and work.
struct CalibratedCosts::Index {
  using Ways = std::array<std::optional<QueryNeighbours>, graph::kPasses>;

  Index(const Calibration& calibration, double cold_share) : curves(calibration, cold_share) {
    for (const LeaveOneOutRow& row : calibration.leave_one_out.empty()
                                         ? leave_one_out(calibration, cold_share)
                                         : calibration.leave_one_out)
      p90[{row.kind, row.fold}] = row.p90;
    for (const MeasuredKernel& kernel : calibration.kernels)
      for (const graph::Pass pass : {graph::Pass::input_gradient, graph::Pass::weight_gradient})
        scratch[kernel.key][static_cast<std::size_t>(pass)] = line_above(kernel.points, pass);
    four =
        curves.knows(Precision::fp32) || !curves.knows(Precision::tf32) ? Precision::fp32 : Precision::tf32;
    two = curves.knows(Precision::bf16) || !curves.knows(Precision::fp16) ? Precision::bf16 : Precision::fp16;
  }

  const Ways& ways(const WayKey& key) {
    {
      const std::shared_lock reading(mutex);
      if (const auto found = known.find(key); found != known.end()) return found->second;
    }
    const KernelKey kernel{key.kind, kernel_shape(key.attributes), key.precision};
    Ways ways;
    for (std::size_t i = 0; i < graph::kPasses; ++i)
      ways[i] = curves.way({kernel, key.work, static_cast<graph::Pass>(i), key.divided});
    const std::unique_lock writing(mutex);
    return known.try_emplace(key, std::move(ways)).first->second;  // which does not move
  }

  PassEstimate estimate(const QueryNeighbours& way, OpKind kind, std::int64_t samples) const {
    const KernelPrediction predicted = curves.predict(way, static_cast<double>(samples));
    double error = 0;
    if (!predicted.measured) {
      const auto found = p90.find({kind, predicted.fold});
      error = found == p90.end() ? kUnknown : found->second;
    }
    return {core::Seconds(predicted.seconds), core::Seconds(predicted.low / (1 + error)),
            core::Seconds(predicted.high * (1 + error)), origin_of(predicted)};
  }

  KernelCurves curves;
  std::map<std::pair<OpKind, FoldKind>, double> p90;
  std::map<KernelKey, std::array<std::optional<MemoryLine>, graph::kPasses>> scratch;
  Precision four, two;
  std::shared_mutex mutex;
  std::unordered_map<WayKey, Ways, WayHash> known;
};

CalibratedCosts::CalibratedCosts(Calibration calibration, double cold_share)
    : calibration_(std::move(calibration)), index_(std::make_unique<Index>(calibration_, cold_share)) {
  const CrowdingSlowdown measured = cost::crowding(calibration_.crowding);
  if (!measured.empty()) crowding_ = std::make_unique<const CrowdingSlowdown>(measured);
}

CalibratedCosts::CalibratedCosts(Calibration calibration)
    : CalibratedCosts(calibration, cost::cold_share(calibration.models)) {}

CalibratedCosts::~CalibratedCosts() = default;

namespace {

/// No longer than the whole, no shorter than its part of that.
PassEstimate enclosed(const PassEstimate& part, const PassEstimate& whole, double share) {
  if (part.time.value() <= 0) return part;
  return scaled(part, std::clamp(part.time, whole.time * share, whole.time) / part.time);
}

}  // namespace

OpEstimate CalibratedCosts::linear(const graph::Linear& l, cluster::Precision precision) const {
  const double element = precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
  const auto bytes = [&](std::int64_t numbers) {
    return core::Bytes(static_cast<std::int64_t>(element) * numbers);
  };
  KernelWork work{{}, bytes(l.rows * (l.in + l.out)), bytes(l.in * l.out)};
  work.flops.fill(core::Flops(2.0 * static_cast<double>(l.rows * l.in) * static_cast<double>(l.out)));
  const Index::Ways& ways = index_->ways({OpKind::linear, precision, l, work, true});
  OpEstimate out;
  for (std::size_t i = 0; i < graph::kPasses; ++i)
    if (ways[i]) out.passes[i] = index_->estimate(*ways[i], OpKind::linear, 1);
  return out;
}

std::optional<OpEstimate> CalibratedCosts::experts(const graph::OpGraph& graph, core::OpId id,
                                                   std::int64_t samples, const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  const auto& asked = as<graph::Experts>(op);
  if (op.kind != OpKind::experts || asked.chosen == 0) return {};
  const Precision precision = graph.element_bytes() >= 4 ? index_->four : index_->two;
  const ExpertWork work = expert_work(asked, static_cast<double>(samples), part);
  const auto whole = [](double extent) { return std::max<std::int64_t>(1, std::llround(extent)); };
  OpEstimate out;
  for (std::size_t i = 0; i < graph::kPasses; ++i) {
    if (!has_pass(op, static_cast<graph::Pass>(i))) continue;
    const core::Seconds moves =
        core::Bytes(static_cast<std::int64_t>(work.moved[i]) * graph.element_bytes()) /
        calibration_.ceilings.copy;
    PassEstimate& pass = out.passes[i] = {moves, moves, moves, TimeOrigin::interpolated};
    for (const auto& [in, width] : work.layers) {
      const OpEstimate one = linear({whole(work.rows), whole(in), whole(width)}, precision);
      if (one.passes[i].time == core::Seconds(0)) return {};  // no dense layer was measured
      pass = sum(pass, scaled(one.passes[i], work.experts));
    }
  }
  return out;
}

OpEstimate CalibratedCosts::looked_up(const graph::OpGraph& graph, core::OpId id,
                                      const cluster::DeviceType& device, std::int64_t samples,
                                      const graph::Attributes& attributes, const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  const Precision precision = graph.element_bytes() >= 4 ? index_->four : index_->two;
  const bool whole = part.partition == plan::Partition::whole;
  const Index::Ways& ways =
      index_->ways({op.kind, precision, attributes, shard_work(graph, id, precision, part), !whole});
  std::optional<OpTime> analytic;
  OpEstimate out;
  for (std::size_t i = 0; i < graph::kPasses; ++i) {
    const graph::Pass pass = static_cast<graph::Pass>(i);
    if (!has_pass(op, pass)) continue;
    if (ways[i]) {
      out.passes[i] = index_->estimate(*ways[i], op.kind, samples);
      continue;
    }
    if (const auto dense = experts(graph, id, samples, part)) {
      out.passes[i] = dense->passes[i];
      continue;
    }
    if (!analytic) analytic = AnalyticCosts().part_time(graph, id, device, samples, part);
    const core::Seconds time = time_in(*analytic, pass);
    out.passes[i] = {time, time / (1 + kUnknown), time * (1 + kUnknown), TimeOrigin::analytic};
  }
  return out;
}

OpEstimate CalibratedCosts::estimate(const graph::OpGraph& graph, core::OpId op,
                                     const cluster::DeviceType& device, std::int64_t samples,
                                     const OpShard& part) const {
  using plan::Partition;
  require_stored(*this, graph.op(op));
  const OpEstimate whole = looked_up(graph, op, device, samples, graph.op(op).attributes, {});
  if (part.partition == Partition::whole) return whole;
  const auto attributes = divided(graph.op(op), part);
  OpEstimate out = part.partition == Partition::batch
                       ? estimate(graph, op, device, samples_of(samples, part.part))
                   : attributes ? looked_up(graph, op, device, samples, *attributes, part)
                                : scaled(whole, part.part);
  for (std::size_t i = 0; i < graph::kPasses; ++i)
    out.passes[i] = enclosed(out.passes[i], whole.passes[i], part.part);
  return out;
}

/// The measured rate; an older file, which has none, gets that of the copy.
core::Bandwidth CalibratedCosts::rate_of(core::Bandwidth measured) const {
  return measured.value() > 0 ? measured : calibration_.ceilings.copy;
}

core::Seconds CalibratedCosts::adding_time(const graph::OpGraph& graph, core::OpId id,
                                           const OpShard& part) const {
  const graph::Operator& op = graph.op(id);
  const std::int64_t parameters = graph.op(graph.owner(id)).parameters;  // of whom it is tied to
  if (parameters == 0 || op.gathered_parameters > 0) return {};
  const double share = part.partition == plan::Partition::batch ? 1 : part.part;
  const core::Bytes bytes = share_of(core::Bytes(parameters * graph.element_bytes()), share);
  return calibration_.launch_overhead + bytes * 3 / rate_of(calibration_.ceilings.add);
}

OpTime CalibratedCosts::op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                                std::int64_t samples) const {
  return part_time(graph, op, device, samples, {});
}

OpTime CalibratedCosts::part_time(const graph::OpGraph& graph, core::OpId op,
                                  const cluster::DeviceType& device, std::int64_t samples,
                                  const OpShard& part) const {
  OpTime time = estimate(graph, op, device, samples, part).time();
  time.weight_gradient += adding_time(graph, op, part);
  return time;
}

OpTime CalibratedCosts::memory_time(const graph::OpGraph& graph, core::OpId op,
                                    const cluster::DeviceType& device, std::int64_t samples,
                                    const OpShard& part) const {
  if (part.partition == plan::Partition::batch)
    return memory_time(graph, op, device, samples_of(samples, part.part), {});
  const Precision precision = graph.element_bytes() >= 4 ? index_->four : index_->two;
  const KernelWork work = shard_work(graph, op, precision, part);
  const core::Seconds moving = (work.moved * samples + work.weights) / calibration_.ceilings.copy;
  OpTime time = estimate(graph, op, device, samples, part).time();
  for (core::Seconds* pass : {&time.forward, &time.input_gradient, &time.weight_gradient})
    *pass = std::min(*pass, moving);
  time.weight_gradient += adding_time(graph, op, part);
  return time;
}

core::Seconds CalibratedCosts::step_time(core::Bytes weights, const plan::Training& training,
                                         const cluster::DeviceType&) const {
  const core::Bytes zeroed = training.gradients(weights);
  return calibration_.launch_overhead * 2 +
         (training.step_traffic(weights) + zeroed) / rate_of(calibration_.ceilings.update);
}

BackwardScratch CalibratedCosts::scratch(const graph::OpGraph& graph, core::OpId id) const {
  BackwardScratch out = plain_scratch(graph, id);
  const Precision precision = graph.element_bytes() >= 4 ? index_->four : index_->two;
  const auto found = index_->scratch.find(key_of(graph.op(id), precision));
  if (found == index_->scratch.end()) return out;
  const auto measured = [&](graph::Pass pass) { return found->second[static_cast<std::size_t>(pass)]; };
  out.input_gradient = measured(graph::Pass::input_gradient).value_or(out.input_gradient);
  out.weight_gradient = measured(graph::Pass::weight_gradient).value_or(out.weight_gradient);
  return out;
}

cluster::DeviceType CalibratedCosts::measured_device() const {
  return device_type(calibration_);
}

bool same_device(const Calibration& calibration, const cluster::DeviceType& type) {
  const auto known = words(calibration.identity.device), asked = words(type.name);
  return !asked.empty() && std::includes(known.begin(), known.end(), asked.begin(), asked.end());
}

cluster::DeviceType device_type(const Calibration& calibration) {
  const DeviceCeilings& ceilings = calibration.ceilings;
  cluster::DeviceType out{
      calibration.identity.device, calibration.identity.memory, ceilings.copy, ceilings.matmul, 1,
      calibration.launch_overhead};
  if (out.peak[0].value() == 0) out.peak[0] = *std::max_element(out.peak.begin(), out.peak.end());
  return out;
}

std::vector<std::string> CalibratedCosts::foreign(const cluster::Cluster& cluster) const {
  std::set<std::string> out;
  for (const cluster::Device& device : cluster.devices())
    if (const auto& type = cluster.types()[device.type]; !same_device(calibration_, type))
      out.insert(type.name);
  return {out.begin(), out.end()};
}

}  // namespace penstock::cost
