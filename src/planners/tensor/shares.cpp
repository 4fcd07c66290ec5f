#include "tensor/shares.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tensor/partition_types.hpp"

namespace penstock::planners {
namespace {

using TypeWeights = std::map<std::size_t, double>;  ///< of one device, by type

constexpr std::int64_t kParts = 4096;  ///< the largest share
/// Grid points on either side; number of refinements.
constexpr int kPoints = 8, kRefinements = 3;
constexpr double kWidest = 8;

std::size_t type_of(const cost::Problem& problem, const plan::Stage& stage, std::size_t position) {
  return problem.cluster.devices()[stage.devices[position].index()].type;
}

std::vector<std::int64_t> shares_of(const cost::Problem& problem, const plan::Stage& stage,
                                    const TypeWeights& weights) {
  double most = 0;
  for (const auto& [type, weight] : weights) most = std::max(most, weight);
  std::vector<std::int64_t> out;
  for (std::size_t m = 0; m < static_cast<std::size_t>(stage.tensor_parallel); ++m) {
    const double share = weights.at(type_of(problem, stage, m)) / most * static_cast<double>(kParts);
    out.push_back(std::max<std::int64_t>(1, std::llround(share)));
  }
  return out;
}

bool groups_differ(const cost::Problem& problem, const plan::Stage& stage) {
  const auto size = static_cast<std::size_t>(stage.tensor_parallel);
  for (std::size_t d = size; d < stage.devices.size(); ++d)
    if (type_of(problem, stage, d) != type_of(problem, stage, d - size)) return true;
  return false;
}

/// Factor on one type's weight with the minimum time.
double best_factor(const cost::Problem& problem, plan::Stage stage, const TypeWeights& weights,
                   std::size_t type, core::StopToken stop) {
  double best = 1, least = lone_stage_seconds(problem, stage), step = std::pow(kWidest, 1.0 / kPoints);
  for (int round = 0; round < kRefinements; ++round, step = std::pow(step, 1.0 / kPoints)) {
    const double middle = best;
    for (int i = -kPoints; i <= kPoints; ++i) {
      stop.check();
      TypeWeights tried = weights;
      tried[type] *= middle * std::pow(step, i);
      stage.shares = shares_of(problem, stage, tried);
      const double seconds = lone_stage_seconds(problem, stage);
      if (seconds < least) least = seconds, best = middle * std::pow(step, i);
    }
  }
  return best;
}

}  // namespace

std::vector<std::int64_t> even_load(const cost::Problem& problem, const plan::Stage& stage) {
  const std::int64_t samples = plan::samples_per_device(stage.micro_batch, stage.replicas());
  TypeWeights weights;
  for (std::size_t m = 0; m < static_cast<std::size_t>(stage.tensor_parallel); ++m) {
    const std::size_t type = type_of(problem, stage, m);
    const auto time =
        cost::compute_time(problem, stage.operators, problem.cluster.types()[type], samples).total();
    weights[type] = 1 / std::max(time.value(), 1e-12);
  }
  if (weights.size() < 2 || groups_differ(problem, stage)) return {};
  return shares_of(problem, stage, weights);
}

std::vector<std::int64_t> best_shares(const cost::Problem& problem, const plan::Stage& stage,
                                      core::StopToken stop) {
  TypeWeights weights;
  for (std::size_t m = 0; m < stage.shares.size(); ++m)
    weights[type_of(problem, stage, m)] = static_cast<double>(stage.shares[m]);
  plan::Stage current = stage;
  for (auto type = std::next(weights.begin()); type != weights.end(); ++type) {
    type->second *= best_factor(problem, current, weights, type->first, stop);
    current.shares = shares_of(problem, stage, weights);
  }
  return current.shares;
}

}  // namespace penstock::planners
