#pragma once
// penstock compare PLAN...: plan files of one model next to each other.

#include <string>
#include <vector>

#include "command.hpp"
#include "penstock/experiment/cell.hpp"

namespace penstock::cli {

struct PlanComparisonFlags {
  ClusterFlags cluster;  ///< instead of those of the plans
  CostFlags costs;
  sim::SimulationOptions simulation;
  report::ScreenLimits screen;
  bool json = false;
};

/// Simulates each plan and prints a row per file, the fastest first. Throws BadInput for a file that is no plan, an
/// invalid-plan error for one that breaks a rule, and BadInput for plans of two models.
core::ExitCode compare_plans(const std::vector<std::string>& files, const PlanComparisonFlags& flags,
                             const CommandContext& session);

}  // namespace penstock::cli
