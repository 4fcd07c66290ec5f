#pragma once
// Names and paths become models, clusters and costs: the edge where files are read.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/cost/cost_model.hpp"
#include "penstock/frameworks/model_reference.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::experiment {

/// Names that end in .json, .yaml or .yml are files.
bool is_model_file(const std::string& name);

/// The file that a name means: `config.json` in a folder of that name, which must be no model of the zoo; any
/// other name as it is. Throws BadInput for a folder without one.
std::string model_file_of(const std::string& name);

/// A model that a user names where nothing else states it (on the command line, in Python): like resolved(),
/// but a Hugging Face config gets at most frameworks::kUsualTokens tokens a sample.
frameworks::NamedModel named_model(const plan::ModelRef& model);

/// A model of the zoo where a file names one: a model reference or a Hugging Face config, whose parameters
/// those given go before; anything else as it is. Throws BadInput.
plan::ModelRef resolved(const plan::ModelRef& model);

/// A model of the zoo, a model file, or a file that names a model. Throws BadInput.
graph::OpGraph load_model(const plan::ModelRef& model);

/// A model of the zoo in the numbers that the training holds its weights in, unless its parameters say of how
/// many bytes they are; a model file as it is.
plan::ModelRef in_numbers_of(const plan::Training& training, plan::ModelRef model);

/// The first `devices` of a cluster file; all of them when `devices` is 0. Throws BadInput.
cluster::Cluster load_cluster(const plan::ClusterRef& ref);

/// Costs that are no file: the analytic model over data sheets.
inline constexpr std::string_view kDataSheet = "data_sheet";
/// False of data sheets, and of none, which are built-in efficiency curves.
inline bool is_costs_file(const std::optional<std::string>& costs) {
  return costs && *costs != kDataSheet;
}
/// Built-in efficiency curves; kDataSheet; or a file, whose first key tells a calibration, kernel tables and
/// a profile apart. Throws BadInput.
std::shared_ptr<const cost::CostModel> load_costs(const std::optional<std::string>& path);

/// Throws BadInput when the costs are known not to hold for a device of the cluster.
void check_device(const cost::CostModel& costs, const cluster::Cluster& cluster);

}  // namespace penstock::experiment
