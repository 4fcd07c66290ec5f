#pragma once
// Objectives of a search: time, time under perturbations, memory, or cost.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/experiment/cell.hpp"

namespace penstock::experiment {

enum class SearchAim : std::uint8_t {
  time,    ///< iteration time
  p95,     ///< 95th percentile of the iteration time under a perturbation, over seeds
  memory,  ///< memory of the fullest device, among plans not much slower than the fastest
  cost,    ///< dollars per sample; devices may stay unused
};
std::string_view name(SearchAim aim);
SearchAim aim(std::string_view name);  ///< throws BadInput for an unknown name
const std::vector<std::string_view>& aim_names();

/// Defaults and limits: percent, and seeds of a perturbation.
inline constexpr double kUsuallySlower = 10, kMostSlower = 10'000;
inline constexpr std::int64_t kUsualSeeds = 20, kMostSeeds = 10'000;

struct AimSetting {
  SearchAim aim = SearchAim::time;
  std::optional<PerturbedSeeds> seeds{};  ///< required for p95
  double slower =
      kUsuallySlower / 100;  ///< for memory: maximum additional time as a share of the fastest plan's
};

/// Result of a search for an objective.
struct AimResult {
  SearchAim aim = SearchAim::time;
  double value = 0;     ///< seconds, bytes, or dollars per sample
  std::string words{};  ///< one line; empty for time, which every table shows
  double most_s = 0;    ///< for memory: maximum seconds of a plan
};

/// The plan found, on the devices that it uses.
struct AimedPlan {
  cluster::Cluster cluster;
  CellOutcome outcome;
  AimResult reached;
};

/// Searches like `search`, for the objective:
/// - time, p95: with any planner; all evaluate their plans by it. joint's p95 is no worse than that of the
///   fastest plan that it finds, which it also searches for.
/// - memory: only with `joint`, which starts from the fastest plan that it found, or from options.from. Plans
///   may take `slower` longer than that.
/// - cost: with any planner, by time, on all devices and on the first 1, 2, 4, ... of them; ties go to more
///   devices. Only on all devices if options.from is given. Throws BadInput if a device has no price.
/// All searches share one time limit. Throws like `search` and check_aim.
AimedPlan search_for(const AimSetting& aim, const cost::Problem& problem, const Cell& cell,
                     SearchSetting setting, core::StopToken stop);

/// Throws BadInput if the planner cannot minimise memory, or if plans would be evaluated by the estimate for
/// objectives that need a simulation (p95, memory).
void check_aim(SearchAim aim, const planners::PlannerChoice& planner, bool by_estimate);

/// Device counts to try if devices may stay unused: all, then powers of two, descending.
std::vector<int> device_counts(std::size_t devices);

/// The problem on the plan's devices; `found` must outlive it.
cost::Problem on_its_devices(const cost::Problem& problem, const AimedPlan& found);

/// Formats dollars: "$132", "$1.32", "$0.00132".
std::string show_dollars(double dollars);

}  // namespace penstock::experiment
