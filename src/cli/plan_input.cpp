#include "plan_input.hpp"

#include "penstock/core/files.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/score/order.hpp"

namespace penstock::cli {

plan::PlanHead head_of(const std::string& text, const std::string& file, const ModelFlags& model,
                       const ClusterFlags& cluster) {
  plan::PlanHead head = plan::parse_plan_head(text, file);
  if (model.name.empty() && !model.parameters.empty())
    throw core::BadInput("-p belongs to --model; the plan's own model keeps the plan's parameters");
  if (!model.name.empty()) head.model = model.ref();
  if (!cluster.file.empty()) head.cluster.name = cluster.file;
  if (cluster.devices > 0) head.cluster.devices = cluster.devices;
  if (!cluster.runtime.empty()) head.cluster.runtime = cluster.runtime;
  return head;
}

PlanInput read_plan(const std::string& file, const ModelFlags& model, const ClusterFlags& cluster,
                    const CostFlags& costs) {
  const std::string text = core::read_file(file);
  const plan::PlanHead head = head_of(text, file, model, cluster);
  graph::OpGraph graph = experiment::load_model(head.model);
  const cluster::Cluster stated = experiment::load_cluster(head.cluster);
  auto measured = costs.load(stated);
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

}  // namespace penstock::cli
