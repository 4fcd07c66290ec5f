#include "penstock/experiment/plan_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "penstock/core/named_fault.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::experiment {

PlanInput read_plan(const std::string& text, const std::string& file, const plan::PlanHead& head,
                    const CostsOf& costs) {
  graph::OpGraph graph = core::naming(file, [&] { return load_model(head.model); });
  const cluster::Cluster stated = core::naming(file, [&] { return load_cluster(head.cluster); });
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

namespace {

/// Splits "stage 3: words" into number and words; nothing for other texts.
std::optional<std::pair<std::string, std::string>> of_stage(const std::string& violation) {
  constexpr std::string_view kStage = "stage ";
  const auto colon = violation.find(": ");
  if (!violation.starts_with(kStage) || colon == violation.npos) return std::nullopt;
  std::string number = violation.substr(kStage.size(), colon - kStage.size());
  if (number.find_first_not_of("0123456789") != number.npos) return std::nullopt;
  return std::pair(std::move(number), violation.substr(colon + 2));
}

/// Merges violations with equal words into one line, "stages 0, 1, 2: ...".
std::vector<std::string> folded(const std::vector<std::string>& violations) {
  std::vector<std::string> out;
  std::map<std::string, std::pair<std::size_t, std::string>> lines;  // words to index in `out`, and stages
  for (const std::string& violation : violations) {
    const auto parts = of_stage(violation);
    if (!parts) {
      out.push_back(violation);
      continue;
    }
    const auto& [stage, words] = *parts;
    auto [at, added] = lines.try_emplace(words, out.size(), stage);
    if (added) {
      out.push_back(violation);
      continue;
    }
    at->second.second += ", " + stage;
    out[at->second.first] = fmt::format("stages {}: {}", at->second.second, words);
  }
  return out;
}

/// Reports missing devices once, whatever the number of stages.
void check_devices(const std::string& file, const cluster::Cluster& cluster, const plan::Plan& plan) {
  std::size_t most = 0;
  for (const plan::Stage& stage : plan.stages)
    for (const core::DeviceId device : stage.devices) most = std::max(most, device.index() + 1);
  if (most <= cluster.size()) return;
  throw core::Error(
      core::ExitCode::invalid_plan,
      fmt::format("{}: the plan is not valid\n  its stages are on devices up to {}, but there are {} (0 to "
                  "{}): give as many with --devices, or plan for fewer",
                  file, most - 1, cluster.size(), cluster.size() - 1));
}

}  // namespace

void refuse(const std::string& file, const std::vector<std::string>& violations) {
  std::string message = file + ": the plan is not valid";
  for (const std::string& violation : folded(violations)) message += "\n  " + violation;
  throw core::Error(core::ExitCode::invalid_plan, message);
}

void complete(const cost::Problem& problem, plan::Plan& plan, const std::string& file, bool may_run_out) {
  check_devices(file, problem.cluster, plan);
  // In-flight counts are undefined before the stages form a pipeline.
  const auto structural = plan::structural_violations(problem.graph, problem.cluster, plan);
  if (!structural.empty()) refuse(file, structural);
  derive_in_flight(problem, plan, file);
  const auto violations =
      may_run_out ? score::rule_violations(problem, plan) : score::violations(problem, plan);
  if (!violations.empty()) refuse(file, violations);
}

}  // namespace penstock::experiment
