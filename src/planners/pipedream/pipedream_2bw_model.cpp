#include "pipedream/pipedream_2bw_model.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/core/error.hpp"

namespace penstock::planners {

double two_bw_seconds(const std::vector<TwoBwStage>& stages, const TwoBwShape& shape) {
  double slowest = 0;
  const double w = shape.width;
  for (const TwoBwStage& stage : stages) {
    const double compute = stage.forward + stage.backward + (shape.recompute ? stage.forward : 0);
    const double transfers =
        stages.size() > 1 ? 2 * (stage.inputs + stage.outputs) / shape.depth_bandwidth : 0;
    const double reduce = w > 1 ? 2 * (w - 1) / w * stage.weights / shape.width_bandwidth : 0;
    slowest = std::max({slowest, compute + transfers, reduce / static_cast<double>(shape.turns)});
  }
  return slowest;
}

double two_bw_bytes(const TwoBwStage& stage, const TwoBwShape& shape, int depth) {
  return 2 * stage.weights + (shape.recompute ? 1 : depth) * stage.activations + depth * stage.inputs;
}

namespace {

/// Ends of runs no heavier than `most`, each as long as possible while later runs get at least one work;
/// nothing if the last run is heavier.
std::optional<std::vector<std::size_t>> ends_within(const std::vector<double>& work, std::size_t parts,
                                                    double most) {
  std::vector<std::size_t> ends;
  std::size_t at = 0;
  for (std::size_t p = 0; p < parts; ++p) {
    double sum = work[at++];
    if (sum > most) return std::nullopt;
    while (at < work.size() - (parts - p - 1) && sum + work[at] <= most) sum += work[at++];
    ends.push_back(at);
  }
  if (at < work.size()) return std::nullopt;
  return ends;
}

double heaviest(const std::vector<double>& work, const std::vector<std::size_t>& ends) {
  double most = 0;
  std::size_t begin = 0;
  for (std::size_t end : ends) {
    double sum = 0;
    while (begin < end) sum += work[begin++];
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

std::vector<std::size_t> balanced_ends(const std::vector<double>& work, int parts) {
  const auto count = static_cast<std::size_t>(parts);
  core::require(parts >= 1 && count <= work.size(), "a run has at least one work");
  double low = 0, high = std::accumulate(work.begin(), work.end(), 0.0);
  auto best = *ends_within(work, count, high);
  high = heaviest(work, best);
  while (high - low > 1e-12 * high) {  // `high` is attained, `low` is not
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    if (auto ends = ends_within(work, count, middle)) {
      best = std::move(*ends);
      high = heaviest(work, best);
    } else {
      low = middle;
    }
  }
  return best;
}

double dropped_two_bw_seconds(double compute, double parameters, double output, int width) {
  const double reduce = 2 * (width - 1) * parameters / (width <= 8 ? 1e11 : 1e9);
  return std::max({compute, 2 * output / 1e9, reduce}) / width;
}

double dropped_two_bw_bytes(double parameters, double activations, int depth) {
  return 4 * (2 * parameters + activations * depth);
}

std::optional<TwoBwAnswer> dropped_two_bw_planner(const TwoBwBlocks& model) {
  std::optional<TwoBwAnswer> best;
  for (int width = 1; width <= model.workers; ++width) {
    if (model.workers % width != 0) continue;
    const int depth = model.workers / width;
    const double n = model.blocks / depth;  // whole blocks
    const double held = std::max(1.0, n);
    const double seconds =
        dropped_two_bw_seconds(model.seconds * n, model.parameters * n, model.output, width);
    const double memory = dropped_two_bw_bytes(model.parameters * held, model.activations * held, depth);
    if (memory <= model.memory && (!best || seconds < best->seconds)) best = {seconds, width, depth, memory};
  }
  return best;
}

}  // namespace penstock::planners
