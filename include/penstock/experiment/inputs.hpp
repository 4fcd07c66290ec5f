#pragma once
// Reads models, clusters and costs by their names and paths.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/cost/cost_model.hpp"
#include "penstock/frameworks/model_reference.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::experiment {

/// True for names that end in .json, .yaml or .yml.
bool is_model_file(const std::string& name);

/// File of a name: `config.json` in a folder of that name, unless the zoo has a model of that name; any other
/// name is returned unchanged. Throws BadInput for a folder without that file.
std::string model_file_of(const std::string& name);

/// A released network (models::released_models) as its family with the parameter `size`, labelled with the
/// released name and the given parameters; any other model unchanged. Throws BadInput if `size` is given
/// too.
plan::ModelRef with_family(const plan::ModelRef& model);

/// Resolves a model that a user names on the command line or in Python. Like resolved(), but a Hugging Face
/// config gets at most frameworks::kUsualTokens tokens per sample.
frameworks::NamedModel named_model(const plan::ModelRef& model);

/// Resolves a file that names a model of the zoo: a model reference or a Hugging Face config. Given
/// parameters take precedence over those of the file. Returns other references unchanged. Throws BadInput.
plan::ModelRef resolved(const plan::ModelRef& model);

/// Loads a model of the zoo, a model file, or a file that names a model. Throws BadInput.
graph::OpGraph load_model(const plan::ModelRef& model);

/// Sets the precision of a model of the zoo to that of the training's weights, unless its parameters state
/// the bytes of an element. Its name in tables stays as given. Returns a model file unchanged.
plan::ModelRef in_numbers_of(const plan::Training& training, plan::ModelRef model);

/// Loads the first `devices` of a cluster file; all of them if `devices` is 0. Throws BadInput.
cluster::Cluster load_cluster(const plan::ClusterRef& ref);

/// Runtime of a cluster whose plans `framework` runs: that of `ref`, or else the framework. Empty if the
/// cluster's file states a host of its own, or if costs are given, because these may time hosts too.
std::string runtime_for(const std::string& framework, const plan::ClusterRef& ref,
                        const std::optional<std::string>& costs, const cluster::Cluster& file);

/// Name of costs that are no file: the analytic model over data sheets.
inline constexpr std::string_view kDataSheet = "data_sheet";
/// False for data sheets, and for none, which means built-in efficiency curves.
inline bool is_costs_file(const std::optional<std::string>& costs) {
  return costs && *costs != kDataSheet;
}
/// Loads built-in efficiency curves, kDataSheet, or a file, whose first key distinguishes calibration, kernel
/// tables and profile. Throws BadInput.
std::shared_ptr<const cost::CostModel> load_costs(const std::optional<std::string>& path);

/// Throws BadInput if the costs do not hold for a device of the cluster.
void check_device(const cost::CostModel& costs, const cluster::Cluster& cluster);

}  // namespace penstock::experiment
