#include "penstock/experiment/plan_input.hpp"

#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::experiment {

PlanInput read_plan(const std::string& text, const std::string& file, const plan::PlanHead& head,
                    const CostsOf& costs) {
  graph::OpGraph graph = load_model(head.model);
  const cluster::Cluster stated = load_cluster(head.cluster);
  auto measured = costs(stated);
  cluster::Cluster here = cost::measured_by(*measured, stated);
  plan::Plan plan = plan::parse_plan(text, file, graph);
  plan.model = head.model;
  plan.cluster = head.cluster;
  return {std::move(graph), std::move(measured), std::move(here), std::move(plan)};
}

void derive_in_flight(const cost::Problem& problem, plan::Plan& plan, const std::string& file) {
  try {
    score::derive_in_flight(problem, plan);
  } catch (const core::BadInput& e) {
    throw core::BadInput({file, 0, "schedule"}, e.what());
  }
}

void refuse(const std::string& file, const std::vector<std::string>& violations) {
  std::string message = file + ": the plan is not valid";
  for (const std::string& violation : violations) message += "\n  " + violation;
  throw core::Error(core::ExitCode::invalid_plan, message);
}

void complete(const cost::Problem& problem, plan::Plan& plan, const std::string& file, bool may_run_out) {
  // In-flight counts have no meaning before the stages are a pipeline.
  const auto structural = plan::structural_violations(problem.graph, problem.cluster, plan);
  if (!structural.empty()) refuse(file, structural);
  derive_in_flight(problem, plan, file);
  const auto violations =
      may_run_out ? score::rule_violations(problem, plan) : score::violations(problem, plan);
  if (!violations.empty()) refuse(file, violations);
}

}  // namespace penstock::experiment
