#include "alike_copies.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "correspondence.hpp"
#include "penstock/plan/colocated.hpp"

namespace penstock::sim {
namespace {

/// Maximum number of copies that the samples allow.
std::int64_t most_copies(const plan::Plan& plan) {
  std::int64_t most = plan.stages.front().micro_batch;
  for (const plan::Stage& stage : plan.stages) {
    if (stage.micro_batch != plan.stages.front().micro_batch) return 1;
    most = std::gcd(most, stage.replicas());
  }
  return most;
}

/// True if replicas of one number have one share of every micro-batch in any order, and do not share weights
/// or experts with neighbours.
bool any_order(const plan::Plan& plan) {
  const std::int64_t replicas = plan.stages.front().replicas();
  return std::ranges::all_of(plan.stages, [&](const plan::Stage& stage) {
    return stage.replicas() == replicas && stage.micro_batch % replicas == 0 && stage.zero_over == 0 &&
           !stage.experts_apart();
  });
}

/// Reorders the replicas of a plan by their index modulo `copies`, so that each copy's replicas are
/// consecutive.
plan::Plan dealt(std::size_t copies, plan::Plan plan) {
  for (plan::Stage& stage : plan.stages) {
    const auto replicas = static_cast<std::size_t>(stage.replicas());
    const std::size_t size = stage.devices.size() / replicas;
    std::vector<core::DeviceId> devices;
    for (std::size_t copy = 0; copy < copies; ++copy)
      for (std::size_t r = copy; r < replicas; r += copies)
        devices.insert(devices.end(), stage.devices.begin() + static_cast<std::ptrdiff_t>(r * size),
                       stage.devices.begin() + static_cast<std::ptrdiff_t>((r + 1) * size));
    stage.devices = std::move(devices);
  }
  return plan;
}

plan::Plan first_of(std::int64_t copies, plan::Plan plan) {
  plan.training.mini_batch /= copies;
  for (plan::Stage& stage : plan.stages) {
    stage.micro_batch /= copies;
    stage.devices.resize(stage.devices.size() / static_cast<std::size_t>(copies));
  }
  return plan;
}

}  // namespace

bool may_fold(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options) {
  return !plan::asynchronous(plan) && !plan::has_colocated(plan) && options.perturbation == nullptr &&
         !options.collective.travels() && options.pass_collectives == PassCollectives::closed_form &&
         options.message_order == MessageOrder::free &&
         !(options.crowding && problem.costs.crowding() != nullptr) && problem.cluster.given_routes().empty();
}

std::optional<EqualCopy> one_copy(const cost::Problem& problem, const plan::Plan& plan,
                                  const SimulationOptions& options) {
  const std::int64_t most = most_copies(plan);
  if (most == 1 || !may_fold(problem, plan, options)) return std::nullopt;
  PointCorrespondence correspondence(problem);
  const bool dealt_anew = any_order(plan);
  for (std::int64_t copies = most; copies > 1; --copies) {
    if (most % copies != 0) continue;
    const auto count = static_cast<std::size_t>(copies);
    if (correspondence.holds(plan, count)) return EqualCopy{first_of(copies, plan), {}};
    if (!dealt_anew || plan.stages.front().replicas() == copies) continue;
    // Copies need not be consecutive replicas: two stages that were merged have theirs apart.
    plan::Plan whole = dealt(count, plan);
    if (correspondence.holds(whole, count)) return EqualCopy{first_of(copies, whole), whole};
  }
  return std::nullopt;
}

}  // namespace penstock::sim
