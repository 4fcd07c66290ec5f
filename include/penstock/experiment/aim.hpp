#pragma once
// What a search makes least: time, time on a bad day, memory, or money.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/experiment/cell.hpp"

namespace penstock::experiment {

enum class Aim : std::uint8_t {
  time,    ///< of an iteration
  p95,     ///< 95th percentile of an iteration's time under a perturbation, over seeds
  memory,  ///< of the fullest device, among plans not much slower than the fastest
  cost,    ///< dollars per sample; devices may stay unused
};
std::string_view name(Aim aim);
Aim aim(std::string_view name);  ///< throws BadInput for an unknown name
const std::vector<std::string_view>& aim_names();

/// What users may ask for, and what they get where they do not say: percent, and seeds of a perturbation.
inline constexpr double kUsuallySlower = 10, kMostSlower = 10'000;
inline constexpr std::int64_t kUsualSeeds = 20, kMostSeeds = 10'000;

struct AimSetting {
  Aim aim = Aim::time;
  std::optional<Seeds> seeds{};  ///< of p95, which needs them
  double slower =
      kUsuallySlower / 100;  ///< of memory: a plan may take that share longer than the fastest one
};

/// What a search came to.
struct Reached {
  Aim aim = Aim::time;
  double value = 0;     ///< seconds, bytes, or dollars per sample
  std::string words{};  ///< one line; empty for time, which stands in every table
  double most_s = 0;    ///< of memory: seconds that a plan was allowed to take
};

/// A plan that was searched for, on the devices that it uses.
struct AimedPlan {
  cluster::Cluster cluster;
  CellOutcome outcome;
  Reached reached;
};

/// Searches as `search`, for the aim:
/// - time, p95: by whatever planner; all judge their plans by it. joint's p95 is no worse than that of the
///   fastest plan that it finds, for which it searches too.
/// - memory: by `joint` alone, which begins at the fastest plan that it found, or at options.from, and may
///   take `slower` longer than that.
/// - cost: by whatever planner, for time, on all devices and on the first 1, 2, 4, ... of them; of equals on
///   more. Only on all where options.from is given. BadInput where a device has no price.
/// All within one time limit. Throws as `search` and check_aim do.
AimedPlan search_for(const AimSetting& aim, const cost::Problem& problem, const Cell& cell,
                     SearchSetting setting, core::StopToken stop);

/// Throws BadInput where the planner cannot search for the aim, memory, or is to judge by the estimate what a
/// simulation alone tells, p95 and memory.
void check_aim(Aim aim, const planners::PlannerChoice& planner, bool by_estimate);

/// How many of so many devices are tried where some may stay unused: all, then powers of two, falling.
std::vector<int> device_counts(std::size_t devices);

/// The problem on the plan's devices; `found` must outlive it.
cost::Problem on_its_devices(const cost::Problem& problem, const AimedPlan& found);

/// "$132", "$1.32", "$0.00132".
std::string show_dollars(double dollars);

}  // namespace penstock::experiment
