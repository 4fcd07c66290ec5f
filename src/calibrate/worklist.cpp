#include "penstock/calibrate/worklist.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "penstock/calibrate/numbers.hpp"

namespace penstock::calibrate {
namespace {

constexpr double kFlopsPerByte = 10;
constexpr double kEviction = 0.01;  // s
constexpr double kFillRate = 1e9;   // B/s of random numbers
constexpr double kRunsToWarmUp = 4;

/// A key with what the models do with it.
struct Found {
  KernelItem item;
  core::Bytes kept;   ///< per sample
  double weight = 0;  ///< s on the reference device, one sample, all models
};

void join(cost::Work& work, const cost::Work& other) {
  for (std::size_t i = 0; i < cost::kPasses; ++i) work.flops[i] = std::max(work.flops[i], other.flops[i]);
  work.moved = std::max(work.moved, other.moved);
  work.weights = std::max(work.weights, other.weights);
}

double reference_time(const KernelItem& item) {
  const Roofline reference{core::Bandwidth(1), core::FlopRate(kFlopsPerByte)};
  double sum = 0;
  for (const cost::Pass pass : kAllPasses)
    if (item.passes[static_cast<std::size_t>(pass)]) sum += reference.time(item.work, pass, 1).value();
  return sum;
}

/// Adds the operator to those found.
void note(std::map<cost::KernelKey, Found>& found, const graph::OpGraph& graph, core::OpId id,
          cluster::Precision number) {
  const graph::Operator& op = graph.op(id);
  KernelItem item{op, cost::key_of(op, number), cost::work_of(graph, id, number), {}, 1};
  for (const cost::Pass pass : kAllPasses)
    item.passes[static_cast<std::size_t>(pass)] = cost::has_pass(op, pass);
  const double weight = reference_time(item);
  Found& entry = found.try_emplace(item.key, Found{item, op.kept_bytes, 0}).first->second;
  join(entry.item.work, item.work);
  for (std::size_t i = 0; i < cost::kPasses; ++i) entry.item.passes[i] |= item.passes[i];
  entry.weight += weight;
}

/// In falling order of weight, ties by key.
std::vector<Found> distinct(std::span<const NamedModel> models, cluster::Precision number) {
  std::map<cost::KernelKey, Found> found;
  for (const NamedModel& model : models)
    for (std::size_t v = 0; v < model.graph.size(); ++v)
      if (kernels::has_kernel(model.graph.op(core::OpId(v)).kind))
        note(found, model.graph, core::OpId(v), number);
  std::vector<Found> out;
  for (auto& [key, entry] : found) out.push_back(std::move(entry));
  std::stable_sort(out.begin(), out.end(),
                   [](const Found& a, const Found& b) { return a.weight > b.weight; });
  return out;
}

/// Operands and their gradients, and what forward keeps.
core::Bytes memory_of(const Found& found, std::int64_t samples) {
  const cost::Work& work = found.item.work;
  return (work.moved * samples + work.weights) * 2 + found.kept * samples;
}

bool allowed(const Found& found, std::int64_t samples, const Roofline& roofline, const WorkLimits& limits) {
  if (memory_of(found, samples) > limits.memory) return false;
  return samples == 1 || std::ranges::all_of(kAllPasses, [&](cost::Pass pass) {
           return roofline.time(found.item.work, pass, samples) <= limits.longest;
         });
}

}  // namespace

std::vector<std::int64_t> batch_sizes(std::int64_t most) {
  std::vector<std::int64_t> sizes = {1};
  std::vector<std::pair<int, int>> gaps = {{0, static_cast<int>(std::lround(std::log2(most)))}};
  if (most > 1) sizes.push_back(most);
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto [low, high] = gaps[i];
    if (high - low < 2) continue;
    const int middle = (low + high) / 2;
    sizes.push_back(std::int64_t{1} << middle);
    gaps.insert(gaps.end(), {{middle, high}, {low, middle}});
  }
  return sizes;
}

std::vector<KernelItem> kernel_items(std::span<const NamedModel> models, cluster::Precision number,
                                     const Roofline& roofline, const WorkLimits& limits) {
  std::vector<KernelItem> items;
  const std::vector<Found> found = distinct(models, number);
  for (const std::int64_t samples : batch_sizes(limits.most_samples))
    for (const Found& entry : found)
      if (allowed(entry, samples, roofline, limits)) items.emplace_back(entry.item).samples = samples;
  return items;
}

core::Seconds sampling_time(core::Seconds run, const SamplingRule& rule) {
  const core::Seconds least = run * static_cast<double>(rule.least);
  const core::Seconds warming = std::min(run * kRunsToWarmUp, run + Stopwatch::kLongestWarmUp);
  return warming + std::min(std::max(least, rule.enough), std::max(rule.most, run));
}

core::Seconds measuring_time(const KernelItem& item, const Roofline& roofline, const SamplingRule& rule) {
  core::Seconds sum = (item.work.moved * item.samples + item.work.weights) * 2 / core::Bandwidth(kFillRate);
  for (const cost::Pass pass : kAllPasses) {
    if (!item.passes[static_cast<std::size_t>(pass)]) continue;
    const core::Seconds time = roofline.time(item.work, pass, item.samples);
    sum += sampling_time(time, rule) + sampling_time(time + core::Seconds(kEviction), rule);
  }
  return sum;
}

}  // namespace penstock::calibrate
