#pragma once
// Flags about a plan file.

#include "command.hpp"
#include "penstock/experiment/plan_input.hpp"

namespace penstock::cli {

/// The plan's own model and cluster, unless flags name others.
plan::PlanHead head_of(const std::string& text, const std::string& file, const ModelFlags& model,
                       const ClusterFlags& cluster);

/// Reads a plan as experiment::read_plan does.
experiment::PlanInput read_plan(const std::string& file, const ModelFlags& model, const ClusterFlags& cluster,
                                const CostFlags& costs);

/// Cluster flags of a command that hands the plan to `framework` ("": to none): its hosts, unless --framework,
/// --costs or the plan's own runtime, other than another framework's, decide.
ClusterFlags run_by(const ClusterFlags& cluster, const CostFlags& costs, const std::string& file,
                    const std::string& framework);

}  // namespace penstock::cli
