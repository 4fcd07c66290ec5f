#include "penstock/calibrate/worklist.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "penstock/calibrate/precisions.hpp"
#include "penstock/cost/op_shard.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::calibrate {
namespace {

constexpr double kFlopsPerByte = 10;
constexpr double kEviction = 0.01;  // s
constexpr double kFillRate = 1e9;   // B/s of random numbers
constexpr double kRunsToWarmUp = 4;

/// A key with its use by the models.
struct WeightedKernel {
  KernelItem item;
  core::Bytes saved;             ///< per sample
  double weight = 0;             ///< s on the reference device, one sample, all models
  std::set<std::int64_t> sizes;  ///< samples
};

void join(cost::KernelWork& work, const cost::KernelWork& other) {
  for (std::size_t i = 0; i < graph::kPasses; ++i) work.flops[i] = std::max(work.flops[i], other.flops[i]);
  work.moved = std::max(work.moved, other.moved);
  work.weights = std::max(work.weights, other.weights);
}

double reference_time(const KernelItem& item) {
  const Roofline reference{core::Bandwidth(1), core::FlopRate(kFlopsPerByte)};
  double sum = 0;
  for (const graph::Pass pass : graph::kAllPasses)
    if (item.passes[static_cast<std::size_t>(pass)]) sum += reference.time(item.work, pass, 1).value();
  return sum;
}

/// Gathers the kernels of all models.
class KernelFinder {
 public:
  KernelFinder(cluster::Precision precision, std::int64_t most_samples)
      : precision_(precision), most_(most_samples) {}

  void add(const NamedModel& model) {
    const auto sizes = model.samples.empty() ? batch_sizes(most_) : model.samples;
    for (std::size_t v = 0; v < model.graph.size(); ++v) {
      const core::OpId id(v);
      if (!kernels::has_kernel(model.graph.op(id).kind)) continue;
      note(model.graph, id, {}, sizes);
      for (const int degree : model.tensor_degrees) add_parts(model.graph, id, degree, sizes);
    }
  }

  /// In falling order of weight, ties by key.
  std::vector<WeightedKernel> found() && {
    std::vector<WeightedKernel> out;
    for (auto& [key, entry] : found_) out.push_back(std::move(entry));
    std::stable_sort(out.begin(), out.end(),
                     [](const WeightedKernel& a, const WeightedKernel& b) { return a.weight > b.weight; });
    return out;
  }

 private:
  /// Adds shards, divided by the rule of layout/infer.hpp: attention by heads, tables by rows.
  void add_parts(const graph::OpGraph& graph, core::OpId id, int degree,
                 const std::vector<std::int64_t>& sizes) {
    const graph::Operator& op = graph.op(id);
    for (const auto how : {plan::Partition::column, plan::Partition::row}) {
      if (op.kind == graph::OpKind::attention && how == plan::Partition::row) continue;
      if (op.kind == graph::OpKind::embedding && how == plan::Partition::column) continue;
      const cost::OpShard part = cost::op_shard(op, how, 1.0 / degree);
      if (cost::divided(op, part)) note(graph, id, part, sizes);
    }
  }

  void note(const graph::OpGraph& graph, core::OpId id, const cost::OpShard& part,
            const std::vector<std::int64_t>& sizes) {
    graph::Operator op = graph.op(id);
    op.attributes = cost::divided(op, part).value_or(op.attributes);
    KernelItem item{op, cost::key_of(op, precision_), cost::shard_work(graph, id, precision_, part), {}, 1};
    for (const graph::Pass pass : graph::kAllPasses)
      item.passes[static_cast<std::size_t>(pass)] = cost::has_pass(op, pass);
    const double weight = reference_time(item);
    WeightedKernel& entry =
        found_.try_emplace(item.key, WeightedKernel{item, op.saved_bytes, 0, {1}}).first->second;
    join(entry.item.work, item.work);
    for (std::size_t i = 0; i < graph::kPasses; ++i) entry.item.passes[i] |= item.passes[i];
    entry.weight += weight;
    entry.sizes.insert(sizes.begin(), sizes.end());
  }

  cluster::Precision precision_;
  std::int64_t most_;
  std::map<cost::KernelKey, WeightedKernel> found_;
};

/// Memory of operands, their gradients, and tensors kept by forward.
core::Bytes memory_of(const WeightedKernel& found, std::int64_t samples) {
  const cost::KernelWork& work = found.item.work;
  return (work.moved * samples + work.weights) * 2 + found.saved * samples;
}

bool allowed(const WeightedKernel& found, std::int64_t samples, const Roofline& roofline,
             const WorkLimits& limits) {
  if (memory_of(found, samples) > limits.memory) return false;
  return samples == 1 || std::ranges::all_of(graph::kAllPasses, [&](graph::Pass pass) {
           return roofline.time(found.item.work, pass, samples) <= limits.longest;
         });
}

}  // namespace

std::vector<std::int64_t> ends_first(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> out = {sizes.front()};
  std::vector<std::pair<std::size_t, std::size_t>> gaps = {{0, sizes.size() - 1}};
  if (sizes.size() > 1) out.push_back(sizes.back());
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto [low, high] = gaps[i];
    if (high - low < 2) continue;
    const std::size_t middle = (low + high) / 2;
    out.push_back(sizes[middle]);
    gaps.insert(gaps.end(), {{middle, high}, {low, middle}});
  }
  return out;
}

std::vector<std::int64_t> batch_sizes(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t samples = 1; samples <= most; samples *= 2) sizes.push_back(samples);
  return ends_first(sizes);
}

std::vector<KernelItem> kernel_items(std::span<const NamedModel> models, cluster::Precision precision,
                                     const Roofline& roofline, const WorkLimits& limits) {
  KernelFinder finder(precision, limits.most_samples);
  for (const NamedModel& model : models) finder.add(model);
  const std::vector<WeightedKernel> found = std::move(finder).found();
  std::vector<std::vector<std::int64_t>> sizes;
  for (const WeightedKernel& entry : found)
    sizes.push_back(ends_first({entry.sizes.begin(), entry.sizes.end()}));
  std::size_t turns = 0;
  for (const auto& own : sizes) turns = std::max(turns, own.size());
  std::vector<KernelItem> items;
  for (std::size_t turn = 0; turn < turns; ++turn)
    for (std::size_t f = 0; f < found.size(); ++f)
      if (turn < sizes[f].size() && allowed(found[f], sizes[f][turn], roofline, limits))
        items.emplace_back(found[f].item).samples = sizes[f][turn];
  return items;
}

core::Seconds sampling_time(core::Seconds run, const SamplingRule& rule) {
  const core::Seconds least = run * static_cast<double>(rule.least);
  const core::Seconds warming = std::min(run * kRunsToWarmUp, run + Stopwatch::kLongestWarmUp);
  return warming + std::min(std::max(least, rule.enough), std::max(rule.most, run));
}

core::Seconds measuring_time(const KernelItem& item, const Roofline& roofline, const SamplingRule& rule) {
  core::Seconds sum = (item.work.moved * item.samples + item.work.weights) * 2 / core::Bandwidth(kFillRate);
  for (const graph::Pass pass : graph::kAllPasses) {
    if (!item.passes[static_cast<std::size_t>(pass)]) continue;
    const core::Seconds time = roofline.time(item.work, pass, item.samples);
    sum += sampling_time(time, rule) + sampling_time(time + core::Seconds(kEviction), rule);
  }
  return sum;
}

}  // namespace penstock::calibrate
