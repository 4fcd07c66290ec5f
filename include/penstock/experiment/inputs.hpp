#pragma once
// Names and paths become models, clusters and costs: the edge where files are read.

#include <memory>
#include <optional>
#include <string>

#include "penstock/cost/cost_model.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::experiment {

/// Names that end in .json, .yaml or .yml are files.
bool is_model_file(const std::string& name);

/// A model of the zoo, or a model file. Throws BadInput.
graph::OpGraph load_model(const plan::ModelRef& model);

/// The first `devices` of a cluster file; all of them when `devices` is 0. Throws BadInput.
cluster::Cluster load_cluster(const plan::ClusterRef& ref);

/// The analytic model, or a profile file. Throws BadInput.
std::shared_ptr<const cost::CostModel> load_costs(const std::optional<std::string>& path);

}  // namespace penstock::experiment
