#pragma once
// A plan file on its way to a simulation or a replay.

#include "command.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan_file.hpp"

namespace penstock::cli {

/// The plan's own model and cluster, unless flags say otherwise.
plan::PlanHead head_of(const std::string& text, const std::string& file, const ModelFlags& model,
                       const ClusterFlags& cluster);

/// What a command says of a plan file, read. Not checked yet.
struct PlanInput {
  graph::OpGraph graph;
  std::shared_ptr<const cost::CostModel> costs;
  cluster::Cluster cluster;  ///< as the costs have measured it
  plan::Plan plan;           ///< of that model and cluster
};
PlanInput read_plan(const std::string& file, const ModelFlags& model, const ClusterFlags& cluster,
                    const CostFlags& costs);

/// Fills in what the schedule holds in flight where the plan does not say.
void derive_in_flight(const cost::Problem& problem, plan::Plan& plan, const std::string& file);

/// Throws an invalid-plan error that lists the violations.
[[noreturn]] void refuse(const std::string& file, const std::vector<std::string>& violations);

}  // namespace penstock::cli
