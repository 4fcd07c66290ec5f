// Written files read back.

#include <fmt/format.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/profile.hpp"
#include "penstock/frameworks/framework.hpp"
#include "penstock/frameworks/from_megatron.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "properties/property.hpp"

namespace penstock::properties {
namespace {

double seconds(const cost::Problem& problem, const plan::Plan& plan) {
  return to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan))).value();
}

std::string same_text(const std::string& a, const std::string& b) {
  return a == b ? "" : "the text written again differs";
}

std::string plan_file(const BuiltProblem& world) {
  const std::string text = plan::to_yaml(world.graph(), plan_or_skip(world));
  const plan::Plan read = plan::parse_plan(text, "plan.yaml", world.graph());
  if (auto bad = same_text(text, plan::to_yaml(world.graph(), read)); !bad.empty()) return bad;
  return equal(seconds(world.problem(), plan_or_skip(world)), seconds(world.problem(), read), "time", 0);
}

std::string model_file(const BuiltProblem& world) {
  const std::string text = graph::to_json(world.graph());
  const graph::OpGraph read = graph::parse_graph(text, "model.json");
  if (auto bad = same_text(text, graph::to_json(read)); !bad.empty()) return bad;
  const cost::Problem problem{read, world.cluster(), world.costs(), world.spec().training};
  if (!world.plan()) return "";
  return equal(seconds(world.problem(), *world.plan()), seconds(problem, *world.plan()), "time", 0);
}

std::string order_file(const BuiltProblem& world) {
  const auto order = score::order_of(world.problem(), plan_or_skip(world));
  const std::string text = schedule::to_csv(order);
  return same_text(text, schedule::to_csv(schedule::parse_schedule(text, "order.csv")));
}

std::string costs_file(const BuiltProblem& world) {
  if (world.spec().costs == CostsKind::analytic) throw NotConcerned();
  if (world.spec().costs == CostsKind::profile) {
    const std::string text = cost::to_yaml(cost::parse_profile(world.costs_text(), "costs.yaml"));
    return same_text(text, cost::to_yaml(cost::parse_profile(text, "again.yaml")));
  }
  const std::string text = cost::to_yaml(cost::parse_kernel_tables(world.costs_text(), "costs.yaml"));
  return same_text(text, cost::to_yaml(cost::parse_kernel_tables(text, "again.yaml")));
}

/// A plan of whole layers that Megatron-LM can run.
plan::Plan megatron_plan(const BuiltProblem& world) {
  const std::string& family = world.spec().zoo.name;
  if (family != "gpt" && family != "llama" && family != "mixtral") throw NotConcerned();
  auto near =
      frameworks::nearest(frameworks::framework_named("megatron"), world.graph(), plan_or_skip(world));
  if (!near) throw NotConcerned();
  score::derive_in_flight(world.problem(), *near);
  return *near;
}

std::string through_megatron(const BuiltProblem& world) {
  const auto& megatron = frameworks::framework_named("megatron");
  const plan::Plan plan = megatron_plan(world);
  const std::string text = frameworks::exported(megatron, world.graph(), plan, "");
  auto read =
      frameworks::from_megatron(text, "train.sh", plan.cluster, world.spec().cluster.count(), {}).plan;
  read.model.parameters.erase("dropout");  // an import states it, a model of the zoo leaves it out
  const auto graph = models::build(read.model.name, read.model.parameters);
  const cost::Problem problem{graph, world.cluster(), world.costs(), read.training};
  score::derive_in_flight(problem, read);
  if (read.stages.size() != plan.stages.size()) return "stages differ";
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage &a = plan.stages[s], &b = read.stages[s];
    if (a.devices != b.devices || a.micro_batch != b.micro_batch || a.zero != b.zero ||
        a.tensor_parallel != b.tensor_parallel || a.recompute != b.recompute || a.operators != b.operators)
      return fmt::format("stage {} differs", s);
  }
  const cost::Problem stated{world.graph(), world.cluster(), world.costs(), plan.training};
  return equal(seconds(stated, plan), seconds(problem, read), "time of the plan, and of what comes back",
               1e-9);
}

std::string nearest_is_valid(const BuiltProblem& world) {
  for (const auto& framework : frameworks::catalogue()) {
    const auto near = frameworks::nearest(framework, world.graph(), plan_or_skip(world));
    if (!near) continue;
    const auto violations = plan::structural_violations(world.graph(), world.cluster(), *near);
    if (!violations.empty()) return framework.name + ": " + violations.front();
    if (frameworks::exported(framework, world.graph(), *near, "").empty())
      return framework.name + " writes nothing";
  }
  return "";
}

}  // namespace

std::vector<Property> of_files() {
  return {
      {"plan_file_reads_back", "a plan file reads back to the same bytes and the same time", plan_file},
      {"model_file_reads_back", "a model file reads back to the same bytes and the same time", model_file},
      {"order_file_reads_back", "an order of passes reads back as it was written", order_file},
      {"costs_file_reads_back", "tables and profiles read back as they were written", costs_file},
      {"megatron_reads_back", "what is exported to Megatron-LM comes back as the same plan",
       through_megatron},
      {"nearest_plans_are_valid", "the nearest plan of every framework is valid and exported",
       nearest_is_valid}};
}

}  // namespace penstock::properties
