#include "plan_input.hpp"

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
