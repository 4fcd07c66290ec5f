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
  cluster::Cluster part = cluster::parse_cluster(text, ref.name).first(ref.devices);
  if (!ref.runtime.empty()) part = part.run_by(cluster::runtime(ref.runtime));
  return ref.reserved ? part.reserving(*ref.reserved) : part;
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
          {costs, experiment::is_costs_file(about.costs_path) ? core::read_file(costs) : ""}};
}

Plan plan_of(const PlanState& state) {
  const auto& [plan, name, parameters, graph, cluster, devices, runtime, costs] = state;
  const plan::PlanHead head = plan::parse_plan_head(plan.second, plan.first);
  Problem about{{std::make_shared<const graph::OpGraph>(graph::parse_graph(graph, name)),
                 {name, parameters, head.model.label},
                 {}},
                {nullptr, {cluster.first, devices, runtime, head.cluster.reserved}},
                costs.second.empty()
                    ? experiment::load_costs(costs.first.empty() ? std::nullopt : std::optional(costs.first))
                    : experiment::parse_costs(costs.second, costs.first),
                {}};
  if (!costs.first.empty()) about.costs_path = costs.first;
  about.cluster.cluster = std::make_shared<const cluster::Cluster>(
      cost::measured_by(*about.costs, cluster_of(about.cluster.ref, cluster.second)));
  plan::Plan read = plan::parse_plan(plan.second, plan.first, *about.model.graph);
  about.training = read.training;
  about.stated = experiment::stated_by_plan(about.cluster.ref, *about.cluster.cluster, !costs.first.empty());
  return {std::move(about), std::move(read), plan.first, nullptr};
}

}  // namespace penstock::python
