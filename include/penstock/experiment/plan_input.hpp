#pragma once
// A plan file on its way to a simulation or a framework.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan_file.hpp"

namespace penstock::experiment {

/// What a plan file is about, read. Not checked yet.
struct PlanInput {
  graph::OpGraph graph;
  std::shared_ptr<const cost::CostModel> costs;
  cluster::Cluster cluster;  ///< as the costs have measured it
  plan::Plan plan;           ///< of that model and cluster
  cost::Problem problem() const { return {graph, cluster, *costs, plan.training}; }
};

/// The costs of a cluster's devices; throws BadInput where they are of others.
using CostsOf = std::function<std::shared_ptr<const cost::CostModel>(const cluster::Cluster&)>;

/// The plan of the text of a plan file, on the model and the cluster of `head` instead of its own. Throws
/// BadInput naming line and key.
PlanInput read_plan(const std::string& text, const std::string& file, const plan::PlanHead& head,
                    const CostsOf& costs);

/// Fills in what the schedule holds in flight where the plan does not say. Throws BadInput.
void derive_in_flight(const cost::Problem& problem, plan::Plan& plan, const std::string& file);

/// Throws an invalid-plan error that lists the violations.
[[noreturn]] void refuse(const std::string& file, const std::vector<std::string>& violations);

/// Makes a plan of `file` ready to be simulated: its rules are checked, in-flight counts filled in, then the
/// memory of its devices checked unless it may run out. Throws BadInput, or an invalid-plan error that lists
/// the violations.
void complete(const cost::Problem& problem, plan::Plan& plan, const std::string& file,
              bool may_run_out = false);

}  // namespace penstock::experiment
