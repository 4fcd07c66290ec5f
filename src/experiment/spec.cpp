#include "penstock/experiment/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "at_node.hpp"
#include "axes.hpp"
#include "claims_file.hpp"
#include "name.hpp"
#include "overrides.hpp"
#include "penstock/cluster/catalogue.hpp"
#include "penstock/core/digest.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/shapes.hpp"
#include "penstock/plan/model_value.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/sim/perturbation.hpp"
#include "selection.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;
using core::Yaml;

using plan::kMostSamples;

constexpr std::size_t kMostLabel = 80;

struct ModelAxis {
  plan::ModelRef model;
  std::vector<std::int64_t> mini_batches;  ///< samples, or samples per device
  bool per_device = false;
};

std::vector<std::int64_t> numbers(const Yaml& node, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (const Yaml& item : node.items()) out.push_back(item.integer(1, most));
  if (out.empty()) node.fail("expected at least one number");
  return out;
}

/// One model for each choice of values: a parameter may have a list of them.
std::vector<plan::ModelRef> with_parameters(const plan::ModelRef& model, const Yaml& parameters) {
  std::vector<plan::ModelRef> out = {model};
  for (const auto& [key, node] : parameters.entries()) {
    const auto values = node.is_list() ? node.items() : std::vector<Yaml>{node};
    if (values.empty()) node.fail("expected at least one value");
    if (out.size() * values.size() > kMostCells) node.fail(fmt::format("more than {} cells", kMostCells));
    if (values.size() > 1 && !model.label.empty()) node.fail("a label names one model: give one value");
    std::vector<plan::ModelRef> more;
    for (const plan::ModelRef& each : out)
      for (const Yaml& value : values) more.emplace_back(each).parameters[key] = plan::model_value(value);
    out = std::move(more);
  }
  return out;
}

/// Label of a node; "" if there is none.
std::string read_label(const Yaml& node) {
  const auto label = node.find("label");
  if (!label) return "";
  std::string text = label->text();
  if (text.empty() || text.size() > kMostLabel || text.find('\n') != std::string::npos)
    label->fail(fmt::format("expected one line of 1 to {} characters", kMostLabel));
  return text;
}

std::vector<plan::ModelRef> read_models(const Yaml& node, const fs::path& folder) {
  plan::ModelRef model{node.at("name").text(), {}};
  model.label = read_label(node);
  const std::string path = (folder / model.name).lexically_normal().string();
  if (is_model_file(model.name) || (model.name.find('/') != std::string::npos && fs::is_directory(path)))
    model.name = at_node(node.at("name"), [&] { return model_file_of(path); });
  const auto parameters = node.find("parameters");
  return parameters ? with_parameters(model, *parameters) : std::vector{std::move(model)};
}

ModelAxis read_model(const Yaml& node, plan::ModelRef model, const InputSnapshot& inputs) {
  node.only({"name", "label", "parameters", "mini_batch", "mini_batch_per_device"});
  ModelAxis axis;
  axis.model = std::move(model);
  at_node(node, [&] {
    axis.model = inputs.resolved(axis.model);
    inputs.model(axis.model);
  });
  const auto total = node.find("mini_batch"), each = node.find("mini_batch_per_device");
  if (total.has_value() == each.has_value()) node.fail("give either mini_batch or mini_batch_per_device");
  axis.per_device = each.has_value();
  axis.mini_batches = numbers(axis.per_device ? *each : *total, kMostSamples);
  return axis;
}

/// Checks before anything runs that a profile has every operator, or a calibration every device.
void check_costs(const Yaml& node, const Spec& spec, bool allow_foreign) {
  at_node(node, [&] {
    const auto costs = spec.inputs->costs(spec.costs);
    for (const Cell& cell : spec.cells)
      if (!allow_foreign) check_device(*costs, spec.inputs->cluster(cell.cluster));
    for (const Cell& cell : spec.cells) {
      const auto& graph = spec.inputs->model(cell.model);
      for (std::size_t v = 0; v < graph.size(); ++v) costs->op_time(graph, core::OpId(v), {}, 1);
    }
  });
}

/// Checks that names differ, because every cell writes files under its name.
void check_names(const Yaml& root, const Spec& spec) {
  if (spec.cells.empty()) root.fail("there is nothing to run: expected models, clusters and planners");
  std::set<std::string> names;
  for (const Cell& cell : spec.cells)
    if (!names.insert(cell_name(cell)).second)
      root.fail(fmt::format("two cells are named {}: an axis repeats itself, or two files share their name",
                            cell_name(cell)));
}

/// A cluster, and the file of the perturbation under which plans run there.
struct ClusterScenario {
  plan::ClusterRef cluster;
  std::string label;
  std::optional<std::string> perturbation;
};

/// Reads a perturbation, which must suit all device counts.
std::optional<std::string> read_perturbation(const Yaml& node, const fs::path& folder,
                                             const std::vector<plan::ClusterRef>& clusters,
                                             const InputSnapshot& inputs) {
  auto file = node.find("perturbation");
  const auto old = node.find("imperfection");  // older name of the key
  if (file && old) old->fail("give either perturbation or imperfection, its old name");
  if (old) file = old;
  if (!file) return std::nullopt;
  const std::string path = (folder / file->text()).lexically_normal().string();
  for (const plan::ClusterRef& ref : clusters) at_node(*file, [&] { inputs.perturbation(path, ref); });
  return path;
}

std::vector<plan::ClusterRef> read_cluster(const Yaml& node, const fs::path& folder,
                                           const InputSnapshot& inputs) {
  node.only({"name", "file", "label", "devices", "perturbation", "imperfection"});
  const auto name = node.find("name");
  if (name.has_value() == node.find("file").has_value()) node.fail("give either name or file");
  const std::string path =
      name ? name->text() : (folder / node.at("file").text()).lexically_normal().string();
  if (name && cluster::is_file_name(path)) name->fail("expected a cluster's name; a file is told as file");
  const std::size_t all = at_node(name ? *name : node.at("file"), [&] {
    return inputs.cluster({path, 0}).size();
  });
  std::vector<plan::ClusterRef> out;
  if (const auto devices = node.find("devices"))
    for (std::int64_t n : numbers(*devices, static_cast<std::int64_t>(all)))
      out.push_back({path, static_cast<int>(n)});
  else
    out.push_back({path, static_cast<int>(all)});
  return out;
}

std::vector<ClusterScenario> read_scenarios(const Yaml& root, const fs::path& folder,
                                            const InputSnapshot& inputs) {
  std::vector<ClusterScenario> out;
  for (const Yaml& node : root.at("clusters").items()) {
    if (node.is_scalar())
      node.fail(fmt::format("expected a mapping, as in {{name: {}, devices: [4]}}", node.text()));
    const auto clusters = read_cluster(node, folder, inputs);
    const auto perturbation = read_perturbation(node, folder, clusters, inputs);
    for (const auto& cluster : clusters) out.push_back({cluster, read_label(node), perturbation});
  }
  return out;
}

struct PlannerEntry {
  planners::PlannerChoice choice;
  std::string label{};
  std::string name() const { return label.empty() ? planners::written(choice) : label; }
};

/// Parses a name, or a name with its options and a label: {piper: {flush: true, label: Piper}}.
PlannerEntry read_planner(const Yaml& node) {
  if (node.is_scalar()) return {{at_node(node, [&] { return planners::planner(node.text()).name; })}};
  const auto entries = node.entries();
  if (entries.size() != 1) node.fail("expected a planner, or {planner: {option: value}}");
  const std::string& name = entries.front().first;
  const auto& info = at_node(node, [&]() -> const planners::PlannerInfo& { return planners::planner(name); });
  PlannerEntry out{{info.name}, read_label(entries.front().second)};
  for (const auto& [option, value] : entries.front().second.entries()) {
    if (option == "label") continue;
    out.choice.options[option] = value.text();
    const planners::OwnOptions given = {{option, value.text()}};
    at_node(value, [&] { planners::check_options(info, given); });
  }
  return out;
}

std::vector<PlannerEntry> read_planners(const Yaml& node) {
  std::vector<PlannerEntry> out;
  for (const Yaml& item : node.items()) out.push_back(read_planner(item));
  if (out.empty()) node.fail("expected at least one planner");
  return out;
}

void check_samples(const Yaml& node, const ModelAxis& axis, int devices) {
  for (const std::int64_t size : axis.mini_batches)
    if (axis.per_device && size * devices > kMostSamples)
      node.at("mini_batch_per_device")
          .fail(fmt::format("{} on each of {} devices are more than {}", size, devices, kMostSamples));
}

void add_cells(Spec& spec, const ModelAxis& axis, const ClusterScenario& scenario,
               const std::vector<PlannerEntry>& planners, const std::vector<Cell>& settings) {
  for (std::int64_t size : axis.mini_batches)
    for (const Cell& setting : settings)
      for (const PlannerEntry& planner : planners) {
        Cell cell = setting;
        cell.model = in_numbers_of(setting.training, axis.model);
        cell.cluster.name = scenario.cluster.name;
        cell.cluster.devices = scenario.cluster.devices;
        cell.perturbation = scenario.perturbation;
        cell.cluster_label = scenario.label;
        cell.cluster.runtime = runtime_for(cell.runnable_by, cell.cluster, spec.costs,
                                           spec.inputs->cluster({scenario.cluster.name, 0}));
        cell.planner = planner.choice;
        cell.planner_label = planner.label;
        cell.training.mini_batch = axis.per_device ? size * scenario.cluster.devices : size;
        spec.cells.push_back(std::move(cell));
      }
}

void read_grid(const Yaml& root, const fs::path& folder, Spec& spec,
               const std::vector<PlannerEntry>& planners) {
  const auto settings = read_axes(root, folder);
  const std::vector<ClusterScenario> scenarios = read_scenarios(root, folder, *spec.inputs);
  for (const Yaml& node : root.at("models").items()) {
    if (node.is_scalar())
      node.fail(fmt::format("expected a mapping, as in {{name: {}, mini_batch: [64]}}", node.text()));
    for (plan::ModelRef& model : read_models(node, folder)) {
      const ModelAxis axis = read_model(node, std::move(model), *spec.inputs);
      for (const ClusterScenario& scenario : scenarios) {
        check_samples(node, axis, scenario.cluster.devices);
        if (spec.cells.size() + axis.mini_batches.size() * settings.size() * planners.size() > kMostCells)
          root.fail(fmt::format("more than {} cells", kMostCells));
        add_cells(spec, axis, scenario, planners, settings);
      }
    }
  }
  check_names(root, spec);
  spec.cells = select(root, spec.cells);
  if (spec.cells.empty()) root.fail("there is nothing to run: every cell is excluded");
}

/// Expected rows, with what is known before anything runs.
report::TextRows rows_to_come(const Spec& spec) {
  std::vector<report::CellResult> rows;
  for (const Cell& cell : spec.cells) rows.push_back(describe(cell));
  return report::to_rows(rows);
}

/// Checks precisions; model files have their own.
void check_precision(const Yaml& root, const Spec& spec) {
  for (const Cell& cell : spec.cells) {
    if (const auto violation = plan::precision_violation(spec.inputs->model(cell.model), cell.training))
      root.at("precision").fail(cell.model.name + ": " + *violation);
    if (const auto violation = plan::products_violation(spec.inputs->cluster(cell.cluster), cell.training))
      root.at("precision").fail(*violation);
  }
}

/// Checks fixed sizes.
void check_micro_batches(const Yaml& root, const Spec& spec) {
  const auto check = [&](const Cell& cell, const std::optional<std::int64_t>& size, const char* key) {
    if (size && cell.training.mini_batch % *size != 0)
      root.at(key).fail(fmt::format("micro-batch {} does not divide the mini-batch {} of {}", *size,
                                    cell.training.mini_batch, cell.model.name));
  };
  for (const Cell& cell : spec.cells) {
    check(cell, cell.micro_batch, "micro_batch");
    check(cell, cell.pipeline_micro_batch, "pipeline_micro_batch");
    if (cell.micro_batch && cell.pipeline_micro_batch)
      root.at("pipeline_micro_batch").fail("micro_batch pins the same thing: give one of them");
  }
}

cost::MemoryRule read_memory(const Yaml& node) {
  node.only({"weight_copies", "gradient_copies", "activation_copies", "optimizer_state", "transient"});
  cost::MemoryRule rule;
  if (const auto n = node.find("weight_copies")) rule.weight_copies = n->integer(0, kMostCopies);
  if (const auto n = node.find("gradient_copies")) rule.gradient_copies = n->integer(0, kMostCopies);
  if (const auto n = node.find("activation_copies")) rule.activation_copies = n->integer(0, kMostCopies);
  if (const auto n = node.find("optimizer_state")) rule.optimizer_state = n->flag();
  if (const auto n = node.find("transient")) rule.transient = n->flag();
  return rule;
}

bool read_choice(const Yaml& node) {
  const std::string by = node.text();
  if (by != "estimate" && by != "simulation") node.fail("expected estimate or simulation");
  return by == "simulation";
}

bool read_searches(const Yaml& node) {
  const std::string how = node.text();
  if (how != "side_by_side" && how != "one_by_one") node.fail("expected side_by_side or one_by_one");
  return how == "one_by_one";
}

void read_limits_and_rules(const Yaml& root, const fs::path& folder, Spec& spec) {
  if (const auto node = root.find("summary")) spec.summary = node->text();
  if (const auto node = root.find("costs"))
    spec.costs = node->text() == kDataSheet ? std::string(kDataSheet)
                                            : (folder / node->text()).lexically_normal().string();
  if (const auto node = root.find("memory")) spec.memory = read_memory(*node);
  if (const auto node = root.find("choose_by")) spec.choose_by_simulation = read_choice(*node);
  if (const auto node = root.find("time_limit")) spec.time_limit = node->seconds();
  if (const auto node = root.find("searches")) spec.one_by_one = read_searches(*node);
  if (const auto node = root.find("memory_limit")) spec.memory_limit = node->bytes();
}

/// Returns the baseline as in rows; the file may give its name or its label.
std::string read_baseline(const Yaml& node, const std::vector<PlannerEntry>& planners) {
  const auto is_baseline = [&](const PlannerEntry& planner) {
    return planner.name() == node.text() || planners::written(planner.choice) == node.text();
  };
  const auto found = std::ranges::find_if(planners, is_baseline);
  if (found == planners.end()) {
    std::vector<std::string> names;
    for (const PlannerEntry& planner : planners) names.push_back(planner.name());
    node.fail("the baseline is none of the planners; " + core::did_you_mean(node.text(), names));
  }
  return found->name();
}

}  // namespace

Spec load_spec(const std::string& path, const Overrides& overrides) {
  return parse_spec(core::read_file(path), path, overrides);
}

namespace {

enum class CostsCheck : std::uint8_t { checked, ignored };

Spec parse(const std::string& text, const std::string& path, const Overrides& overrides, CostsCheck costs,
           const InputSnapshot::Texts& files = {}) {
  Yaml root = Yaml::parse(text, path);
  apply(overrides, root);
  root.only({"experiment",  "summary",
             "models",      "clusters",
             "planners",    "optimizer",
             "compression", "precision",
             "bucket",      "runtime",
             "framework",   "for",
             "micro_batch", "pipeline_micro_batch",
             "search",      "schedule",
             "costs",       "allow_foreign",
             "choose_by",   "baseline",
             "memory",      "simulation",
             "time_limit",  "memory_limit",
             "searches",    "include",
             "exclude",     "claims"});
  const fs::path folder = fs::path(path).parent_path();
  if (const auto runtime = root.find("runtime"); runtime && root.find("framework"))
    runtime->fail("framework says the same thing: give one of them");
  Spec spec;
  spec.inputs = std::make_shared<InputSnapshot>(files);
  spec.name = read_name(root.at("experiment"));
  read_limits_and_rules(root, folder, spec);
  const auto planners = read_planners(root.at("planners"));
  if (const auto node = root.find("baseline")) spec.baseline = read_baseline(*node, planners);
  read_grid(root, folder, spec, planners);
  const auto foreign = root.find("allow_foreign");
  const bool allowed = foreign && foreign->flag();
  if (foreign && !is_costs_file(spec.costs)) foreign->fail("belongs to costs, and there are none");
  if (is_costs_file(spec.costs) && costs == CostsCheck::checked) check_costs(root.at("costs"), spec, allowed);
  check_precision(root, spec);
  check_micro_batches(root, spec);
  spec.claims = read_claims(root, rows_to_come(spec));
  return spec;
}

}  // namespace

Spec parse_spec(const std::string& text, const std::string& path, const Overrides& overrides) {
  return parse(text, path, overrides, CostsCheck::checked);
}

Spec parse_spec(const std::string& text, const std::string& path, const Overrides& overrides,
                const InputSnapshot::Texts& files) {
  return parse(text, path, overrides, CostsCheck::checked, files);
}

Spec load_grid(const std::string& path) {
  return parse(core::read_file(path), path, {}, CostsCheck::ignored);
}

std::string model_name(const plan::ModelRef& model) {
  if (!model.label.empty()) return model.label;
  std::string out = model.name;
  for (const auto& [key, value] : model.parameters) out += " " + key + "=" + value;
  return out;
}

std::string planner_name(const Cell& cell) {
  return cell.planner_label.empty() ? planners::written(cell.planner) : cell.planner_label;
}

std::string scenario_name(const Cell& cell) {
  if (!cell.cluster_label.empty()) return cell.cluster_label;
  const std::string cluster = fs::path(cell.cluster.name).stem().string();
  return cell.perturbation ? cluster + "~" + fs::path(*cell.perturbation).stem().string() : cluster;
}

std::string setting_text(const Cell& cell) {
  std::string out;
  for (const auto& [key, value] : cell.setting)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", key, value);
  return out;
}

std::string cell_name(const Cell& cell) {
  const bool labelled = !cell.model.label.empty();
  std::string name =
      fmt::format("{}-{}-{}-{}-{}", labelled ? cell.model.label : fs::path(cell.model.name).stem().string(),
                  scenario_name(cell), cell.cluster.devices, planner_name(cell), cell.training.mini_batch);
  if (!labelled)
    for (const auto& [key, value] : cell.model.parameters) name += fmt::format("-{}_{}", key, value);
  for (const auto& [key, value] : cell.setting) name += fmt::format("-{}_{}", key, value);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  constexpr std::size_t kMost = 200;  // file systems allow 255 bytes, extensions included
  if (name.size() <= kMost) return name;
  const std::string digest = "-" + core::digest(name);
  return name.substr(0, kMost - digest.size()) + digest;
}

}  // namespace penstock::experiment
