#include "plan_state.hpp"

#include "penstock/cluster/catalogue.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/snapshot.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/plan/plan_file.hpp"

namespace penstock::python {
namespace {

cluster::Cluster cluster_of(const plan::ClusterRef& ref, const std::string& text) {
  if (text.empty()) return experiment::load_cluster(ref);
  const cluster::Cluster part = cluster::parse_cluster(text, ref.name).first(ref.devices);
  return ref.runtime.empty() ? part : part.run_by(cluster::runtime(ref.runtime));
}

}  // namespace

PlanState state_of(const Plan& plan) {
  const Problem& about = plan.about;
  const plan::ClusterRef& cluster = about.cluster.ref;
  const std::string costs = about.costs_path.value_or("");
  return {{plan.file, plan::to_yaml(*about.model.graph, plan.plan)},
          about.model.ref.name,
          about.model.ref.parameters,
          graph::to_json(*about.model.graph),
          {cluster.name, cluster::is_file_name(cluster.name) ? core::read_file(cluster.name) : ""},
          static_cast<int>(about.cluster.cluster->size()),
          cluster.runtime,
          {costs, costs.empty() ? "" : core::read_file(costs)}};
}

Plan plan_of(const PlanState& state) {
  const auto& [plan, name, parameters, graph, cluster, devices, runtime, costs] = state;
  Problem about{
      {std::make_shared<const graph::OpGraph>(graph::parse_graph(graph, name)), {name, parameters}, {}},
      {nullptr, {cluster.first, devices, runtime}},
      costs.first.empty() ? experiment::load_costs({}) : experiment::parse_costs(costs.second, costs.first),
      {}};
  if (!costs.first.empty()) about.costs_path = costs.first;
  about.cluster.cluster = std::make_shared<const cluster::Cluster>(
      cost::measured_by(*about.costs, cluster_of(about.cluster.ref, cluster.second)));
  plan::Plan read = plan::parse_plan(plan.second, plan.first, *about.model.graph);
  about.training = read.training;
  return {std::move(about), std::move(read), plan.first, nullptr};
}

}  // namespace penstock::python
