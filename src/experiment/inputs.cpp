#include "penstock/experiment/inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "models/catalogue.hpp"
#include "models/released.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/named_fault.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/curve_costs.hpp"
#include "penstock/experiment/snapshot.hpp"
#include "penstock/experiment/spec.hpp"
#include "penstock/frameworks/hf_config.hpp"
#include "penstock/frameworks/model_reference.hpp"
#include "penstock/graph/graph_file.hpp"

namespace penstock::experiment {

bool is_model_file(const std::string& name) {
  return name.ends_with(".json") || name.ends_with(".yaml") || name.ends_with(".yml");
}

std::string model_file_of(const std::string& name) {
  const auto is_name = [&name](const models::ModelInfo& model) { return model.name == name; };
  if (is_model_file(name) || std::ranges::any_of(models::catalogue(), is_name) ||
      models::released_model(name) != nullptr)
    return name;
  std::error_code fault;
  if (!std::filesystem::is_directory(name, fault)) return name;
  std::string file = (std::filesystem::path(name) / "config.json").string();
  if (!std::filesystem::exists(file))
    throw core::BadInput(
        name + " is a folder without a config.json: name a model file in it, or a model of the zoo");
  return file;
}

plan::ModelRef with_family(const plan::ModelRef& given) {
  const models::ReleasedModel* released = models::released_model(given.name);
  if (released == nullptr) return given;
  if (given.parameters.contains("size"))
    throw core::BadInput(fmt::format("'{}' is a size of the family {}: drop the parameter size, or name {}",
                                     given.name, released->family, released->family));
  plan::ModelRef out = given;
  if (out.label.empty()) {
    out.label = given.name;
    for (const auto& [key, value] : given.parameters) out.label += fmt::format(" {}={}", key, value);
  }
  out.name = released->family;
  out.parameters["size"] = released->name;
  if (models::has_parameter(out.name, "loss")) out.parameters.emplace("loss", "yes");
  return out;
}

frameworks::NamedModel named_model(const plan::ModelRef& given) {
  plan::ModelRef model = with_family(given);
  model.name = model_file_of(model.name);
  if (!is_model_file(model.name)) return {model, {}, model.parameters.contains("sequence")};
  return frameworks::named_by(core::read_file(model.name), model.name, model, frameworks::kUsualTokens);
}

plan::ModelRef resolved(const plan::ModelRef& given) {
  plan::ModelRef model = with_family(given);
  model.name = model_file_of(model.name);
  if (!is_model_file(model.name)) return model;
  return frameworks::named_by(core::read_file(model.name), model.name, model);
}

namespace {

/// A released name may have a dot, so a misspelt one looks like a file.
core::BadInput no_model(const std::string& name) {
  const std::string hint = core::did_you_mean_name(name, models::known_names());
  return core::BadInput(fmt::format("there is no model file or folder '{}'{}", name,
                                    hint.starts_with("did you mean") ? "; " + hint : ""));
}

}  // namespace

graph::OpGraph load_model(const plan::ModelRef& given) {
  const plan::ModelRef model = resolved(given);
  if (!is_model_file(model.name)) {
    std::error_code fault;
    if (model.name.find('.') != std::string::npos && std::filesystem::exists(model.name, fault))
      throw core::BadInput(model.name + " is no model file: the names of these end in .json or .yaml");
    if (model.name.find_first_of("./") != std::string::npos) throw no_model(model.name);
    if (model.name == given.name || models::released_model(given.name) != nullptr)
      return models::build(model.name, model.parameters);
    return core::naming(model_file_of(given.name),
                        [&] { return models::build(model.name, model.parameters); });
  }
  if (!model.parameters.empty())
    throw core::BadInput("model file '" + model.name +
                         "' takes no parameters; they are for models of the zoo");
  return graph::load_graph(model.name);
}

plan::ModelRef in_numbers_of(const plan::Training& training, plan::ModelRef model) {
  constexpr int kUsual = 4;
  if (!training.precision || is_model_file(model.name)) return model;
  const auto state = [&model](const char* parameter, std::string value) {
    if (model.parameters.contains(parameter)) return;
    model.label = model_name(model);  // tables state the precision separately
    model.parameters.emplace(parameter, std::move(value));
  };
  if (const int bytes = plan::bytes(training.precision->weights); bytes != kUsual)
    state("element_bytes", std::to_string(bytes));
  if (const auto products = training.precision->products; products != graph::ProductFormat::stored)
    state("products", std::string(graph::name(products)));
  return model;
}

cluster::Cluster load_cluster(const plan::ClusterRef& ref) {
  cluster::Cluster all = cluster::load_cluster(ref.name);
  if (ref.devices != 0) all = all.first(ref.devices);
  if (!ref.runtime.empty()) all = all.run_by(cluster::runtime(ref.runtime));
  return ref.reserved ? all.reserving(*ref.reserved) : all;
}

std::string runtime_for(const std::string& framework, const plan::ClusterRef& ref,
                        const std::optional<std::string>& costs, const cluster::Cluster& file) {
  const bool stated = std::ranges::any_of(
      file.types(), [](const cluster::DeviceType& type) { return type.runtime.has_value(); });
  return ref.runtime.empty() && !costs && !stated ? framework : ref.runtime;
}

std::shared_ptr<const cost::CostModel> load_costs(const std::optional<std::string>& path) {
  if (!path) return std::make_shared<cost::CurveCosts>();
  if (*path == kDataSheet) return std::make_shared<cost::AnalyticCosts>();
  // A short word that is no file is meant as the name.
  if (!std::filesystem::exists(*path) &&
      core::did_you_mean(*path, {std::string(kDataSheet)}).starts_with("did you mean"))
    throw core::BadInput(fmt::format("no costs are called '{}'; did you mean '{}'?", *path, kDataSheet));
  return parse_costs(core::read_file(*path), *path);
}

void check_device(const cost::CostModel& costs, const cluster::Cluster& cluster) {
  const auto foreign = costs.foreign(cluster);
  if (foreign.empty()) return;
  throw core::BadInput(
      fmt::format("the costs are the {}, but cluster {} has {}; allow foreign costs to use them all the same",
                  costs.source(), cluster.name(), fmt::join(foreign, ", ")));
}

}  // namespace penstock::experiment
