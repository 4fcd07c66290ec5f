#pragma once
// Reads and checks a plan file for a simulation or a framework.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan_file.hpp"

namespace penstock::experiment {

/// A plan file with the model, costs and cluster it names; not checked yet.
struct PlanInput {
  graph::OpGraph graph;
  std::shared_ptr<const cost::CostModel> costs;
  cluster::Cluster cluster;  ///< completed by the costs' measurements
  plan::Plan plan;           ///< plan for that model and cluster
  cost::Problem problem() const { return {graph, cluster, *costs, plan.training}; }
};

/// Returns the costs for a cluster's devices; throws BadInput if they are for other devices.
using CostsOf = std::function<std::shared_ptr<const cost::CostModel>(const cluster::Cluster&)>;

/// Parses the text of a plan file, on the model and the cluster of `head` instead of its own. Throws BadInput
/// naming line and key.
PlanInput read_plan(const std::string& text, const std::string& file, const plan::PlanHead& head,
                    const CostsOf& costs);

/// Fills in missing in-flight counts by the schedule. Throws BadInput.
void derive_in_flight(const cost::Problem& problem, plan::Plan& plan, const std::string& file);

/// Throws an invalid-plan error that lists the violations.
[[noreturn]] void refuse(const std::string& file, const std::vector<std::string>& violations);

/// Makes a plan of `file` ready for simulation: checks its rules, fills in in-flight counts, then checks the
/// memory of its devices unless it may run out. Throws BadInput, or an invalid-plan error that lists the
/// violations.
void complete(const cost::Problem& problem, plan::Plan& plan, const std::string& file,
              bool may_run_out = false);

}  // namespace penstock::experiment
