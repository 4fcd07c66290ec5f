#include "penstock/plan/plan_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "penstock/core/paths.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/plan/model_value.hpp"

namespace penstock::plan {
namespace {

using core::DeviceId;
using core::OpId;
using core::StageId;
using core::Yaml;

constexpr std::int64_t kMostDevices = 1 << 20;

/// True for letters and digits that YAML reads as text; "null" is not text.
bool plain(const std::string& text) {
  if (text == "null" || text == "Null" || text == "NULL") return false;
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-';
  }) && std::isalpha(static_cast<unsigned char>(text.front()));
}

/// Quotes a text only if YAML could misread it.
std::string quoted(const std::string& text) {
  return plain(text) ? text : core::quoted(text);
}

/// Text that model_value() reads back.
std::string written_value(const std::string& value) {
  return value == "true" || value == "false" ? core::quoted(value) : quoted(value);
}

template <class Ids>
std::string numbers(const Ids& ids) {
  std::vector<std::size_t> out;
  for (const auto id : ids) out.push_back(id.index());
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string partition_text(const graph::OpGraph& graph, const Stage& stage) {
  std::vector<std::string> entries;
  for (const auto& [op, how] : stage.partition)
    entries.push_back(fmt::format("{}: {}", quoted(graph.op(op).name), name(how)));
  return fmt::format("    partition: {{{}}}\n", fmt::join(entries, ", "));
}

std::string training_text(const Training& training) {
  std::string out =
      fmt::format("training: {{mini_batch: {}, optimizer: {}", training.mini_batch, name(training.optimizer));
  const Compression& ratio = training.compression;
  if (ratio.gradients != 1 || ratio.activations != 1)
    out +=
        fmt::format(", compression: {{gradients: {}, activations: {}}}", ratio.gradients, ratio.activations);
  if (training.precision) out += ", precision: " + written(*training.precision);
  if (training.bucket != kUsualBucket) out += fmt::format(", bucket: {}B", training.bucket.value());
  return out + "}\n";
}

/// Comment that states one replica's share of the file's micro-batch; empty if there is one replica.
std::string share_text(const Plan& plan, const Stage& stage) {
  if (stage.replicas() == 1) return "";
  if (asynchronous(plan)) return fmt::format("  # of one of {} replicas, which take turns", stage.replicas());
  return fmt::format("  # of {} replicas together, {} each", stage.replicas(),
                     samples_per_device(plan, stage));
}

/// Degrees of all dimensions except tensor parallelism, which is written with its other options. The default
/// exchange, ring, is not written.
std::string dimensions_text(const Stage& stage) {
  std::string out;
  for (const StatedDim& stated : kStatedDims) {
    const int size = stage.*stated.size;
    if (size == 1 || stated.dim == MeshDim::tensor) continue;
    const bool plain = stated.dim != MeshDim::context || stage.context_exchange == ContextExchange::ring;
    out +=
        plain ? fmt::format("    {}: {}\n", stated.key, size)
              : fmt::format("    {}: {{size: {}, by: {}}}\n", stated.key, size, name(stage.context_exchange));
  }
  return out;
}

std::string expert_text(const Stage& stage) {
  if (!stage.experts_apart()) return "";
  if (stage.imbalance == 1 && !stage.whole_experts)
    return fmt::format("    expert_parallel: {}\n", stage.expert_parallel);
  return fmt::format("    expert_parallel: {{size: {}{}{}}}\n", stage.expert_parallel,
                     stage.whole_experts ? ", whole: true" : "",
                     stage.imbalance == 1 ? "" : fmt::format(", imbalance: {}", stage.imbalance));
}

std::string stage_text(const graph::OpGraph& graph, const Plan& plan, const Stage& stage, bool colocated) {
  std::vector<std::string> names;
  for (OpId op : stage.operators) names.push_back(quoted(graph.op(op).name));
  std::string out = fmt::format("  - devices: {}\n    micro_batch: {}{}\n    k: {}\n    in_flight: {}\n",
                                numbers(stage.devices), stage.micro_batch, share_text(plan, stage), stage.k,
                                stage.in_flight);
  if (colocated) out += "    colocated: true\n";
  if (stage.recompute) out += fmt::format("    recompute: {}\n", written(stage.recompute));
  if (stage.tensor_parallel != 1) out += fmt::format("    tensor_parallel: {}\n", stage.tensor_parallel);
  if (!stage.shares.empty()) out += fmt::format("    shares: [{}]\n", fmt::join(stage.shares, ", "));
  if (!stage.partition.empty()) out += partition_text(graph, stage);
  if (stage.sequence_parallel) out += "    sequence_parallel: true\n";
  out += dimensions_text(stage);
  out += expert_text(stage);
  if (stage.zero_over != 0)
    out += fmt::format("    zero: {{stage: {}, over: {}}}\n", stage.zero, stage.zero_over);
  else if (stage.zero != 0)
    out += fmt::format("    zero: {}\n", stage.zero);
  if (!stage.after.empty()) out += fmt::format("    after: {}\n", numbers(stage.after));
  return out + fmt::format("    operators: [{}]\n", fmt::join(names, ", "));
}

/// Converts between stages of a file, which lists a colocated stage once, and stages of a plan, which has one
/// per part.
struct StageNumbers {
  explicit StageNumbers(const Plan& plan) {
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      if (plan.stages[s].part.before == 0 || parts.empty()) parts.emplace_back();
      of_stage.push_back(parts.size() - 1);
      parts.back().emplace_back(s);
    }
  }
  std::vector<StageId> written(const std::vector<StageId>& stages) const {
    std::vector<StageId> out;
    for (const StageId stage : stages) {
      const StageId whole = stage.index() < of_stage.size() ? StageId(of_stage[stage.index()]) : stage;
      if (std::ranges::find(out, whole) == out.end()) out.push_back(whole);
    }
    return out;
  }
  std::vector<std::size_t> of_stage;        ///< [stage of the plan] stage of the file
  std::vector<std::vector<StageId>> parts;  ///< [stage of the file]
};

/// Resolves file names; other names mean the same everywhere.
std::string found_from(const std::string& file, const std::string& name) {
  return core::names_file(name) ? core::path_from(file, name) : name;
}

std::string read_runtime(const Yaml& node) {
  try {
    cluster::runtime(node.text());
  } catch (const core::BadInput& fault) {
    node.fail(fault.what());
  }
  return node.text();
}

PlanHead read_head(const Yaml& root, const std::string& file) {
  root.only({"penstock_plan", "model", "cluster", "planner", "training", "schedule", "stages"});
  root.at("penstock_plan").integer(1, 1);
  PlanHead head;
  const Yaml model = root.at("model"), cluster = root.at("cluster");
  model.only({"name", "label", "parameters"});
  head.model.name = found_from(file, model.at("name").text());
  if (const auto parameters = model.find("parameters"))
    for (const auto& [key, value] : parameters->entries()) head.model.parameters[key] = model_value(value);
  if (const auto label = model.find("label")) head.model.label = label->text();
  cluster.only({"name", "devices", "runtime", "reserved"});
  head.cluster = {found_from(file, cluster.at("name").text()),
                  static_cast<int>(cluster.at("devices").integer(1, kMostDevices))};
  if (const auto runtime = cluster.find("runtime")) head.cluster.runtime = read_runtime(*runtime);
  if (const auto reserved = cluster.find("reserved")) head.cluster.reserved = reserved->bytes();
  return head;
}

template <class Id>
std::vector<Id> read_ids(const Yaml& list) {
  std::vector<Id> out;
  for (const Yaml& item : list.items())
    out.emplace_back(static_cast<std::size_t>(item.integer(0, kMostDevices)));
  return out;
}

/// Parses a word and adds file, line and key to its errors.
template <class Enum>
Enum word(const Yaml& node, Enum (*read)(std::string_view)) {
  const std::string text = node.text();
  try {
    return read(text);
  } catch (const core::BadInput& e) {
    node.fail(e.what());
  }
}

OpId named(const Yaml& at, const std::string& name, const std::unordered_map<std::string, OpId>& by_name) {
  const auto found = by_name.find(name);
  if (found == by_name.end()) at.fail(fmt::format("the model has no operator '{}'", name));
  return found->second;
}

Training read_training(const Yaml& node) {
  node.only({"mini_batch", "optimizer", "compression", "precision", "bucket"});
  Training training;
  training.mini_batch = node.at("mini_batch").integer(1, kMostSamples);
  if (const auto given = node.find("optimizer")) training.optimizer = word(*given, optimizer);
  if (const auto given = node.find("compression")) training.compression = read_compression(*given);
  if (const auto given = node.find("precision")) training.precision = read_precision(*given);
  if (const auto given = node.find("bucket")) training.bucket = given->bytes();
  return training;
}

/// Reads the size of a dimension; for context parallelism also `{size: 4, by: ulysses}`.
void read_dimension(const Yaml& node, const StatedDim& stated, Stage& stage) {
  const bool short_form = stated.dim != MeshDim::context || node.is_scalar();
  if (!short_form) node.only({"size", "by"});
  const Yaml size = short_form ? node : node.at("size");
  stage.*stated.size = static_cast<int>(size.integer(1, kMostDevices));
  if (short_form) return;
  if (const auto by = node.find("by")) stage.context_exchange = word(*by, context_exchange);
}

void read_zero(const Yaml& node, Stage& stage) {
  const bool short_form = node.is_scalar();
  if (!short_form) node.only({"stage", "over"});
  stage.zero = static_cast<int>((short_form ? node : node.at("stage")).integer(0, 3));
  if (short_form) return;
  if (const auto over = node.find("over")) stage.zero_over = over->integer(1, kMostDevices);
}

void read_experts(const Yaml& node, Stage& stage) {
  const bool short_form = node.is_scalar();
  if (!short_form) node.only({"size", "whole", "imbalance"});
  const Yaml size = short_form ? node : node.at("size");
  stage.expert_parallel = static_cast<int>(size.integer(1, kMostDevices));
  if (short_form) return;
  if (const auto whole = node.find("whole")) stage.whole_experts = whole->flag();
  if (const auto imbalance = node.find("imbalance")) stage.imbalance = imbalance->number();
}

Stage read_stage(const Yaml& node, const std::unordered_map<std::string, OpId>& by_name) {
  std::vector<std::string_view> known = {"devices", "micro_batch", "k", "in_flight", "recompute"};
  for (const StatedDim& stated : kStatedDims) known.push_back(stated.key);
  known.insert(known.end(), {"shares", "sequence_parallel", "expert_parallel", "partition", "zero", "after",
                             "colocated", "operators"});
  node.only(known);
  Stage stage;
  stage.devices = read_ids<DeviceId>(node.at("devices"));
  stage.micro_batch = node.at("micro_batch").integer(1, kMostSamples);
  if (const auto k = node.find("k")) stage.k = static_cast<int>(k->integer(1, kMostSamples));
  if (const auto held = node.find("in_flight")) stage.in_flight = held->integer(0, kMostSamples);
  if (const auto again = node.find("recompute")) stage.recompute = word(*again, recomputation);
  for (const StatedDim& stated : kStatedDims)
    if (const auto size = node.find(stated.key)) read_dimension(*size, stated, stage);
  if (const auto shares = node.find("shares"))
    for (const Yaml& item : shares->items()) stage.shares.push_back(item.integer(1, kMostSamples));
  if (const auto chosen = node.find("partition"))
    for (const auto& [op, how] : chosen->entries())
      stage.partition[named(how, op, by_name)] = word(how, partition);
  if (const auto by_tokens = node.find("sequence_parallel")) stage.sequence_parallel = by_tokens->flag();
  if (const auto experts = node.find("expert_parallel")) read_experts(*experts, stage);
  if (const auto zero = node.find("zero")) read_zero(*zero, stage);
  if (const auto after = node.find("after")) stage.after = read_ids<StageId>(*after);
  for (const Yaml& item : node.at("operators").items())
    stage.operators.push_back(named(item, item.text(), by_name));
  std::sort(stage.operators.begin(), stage.operators.end());
  return stage;
}

/// Reads stages and divides colocated stages into parts; stage numbers in `after` change accordingly.
std::vector<Stage> read_stages(const Yaml& node, const std::unordered_map<std::string, OpId>& by_name) {
  const std::vector<Yaml> items = node.items();
  std::vector<Stage> listed, others, out;
  std::vector<std::optional<Yaml>> colocated;
  for (const Yaml& item : items) {
    listed.push_back(read_stage(item, by_name));
    colocated.push_back(item.find("colocated"));
    if (colocated.back() && !colocated.back()->flag()) colocated.back().reset();
    if (!colocated.back()) others.push_back(listed.back());
  }
  std::vector<std::vector<StageId>> parts(listed.size());
  for (std::size_t s = 0; s < listed.size(); ++s) {
    std::vector<Stage> here{listed[s]};
    try {
      if (colocated[s]) here = parts_of(listed[s], others);
    } catch (const core::BadInput& e) {
      colocated[s]->fail(e.what());
    }
    std::vector<StageId> after;
    for (const StageId before : listed[s].after)
      if (before.index() < s)
        after.insert(after.end(), parts[before.index()].begin(), parts[before.index()].end());
      // No earlier stage: structural_violations reports it.
      else
        after.emplace_back(out.size() + before.index() - s);
    for (Stage& stage : here) {
      stage.after = after;
      parts[s].emplace_back(out.size());
      out.push_back(std::move(stage));
    }
  }
  return out;
}

}  // namespace

Compression read_compression(const Yaml& node) {
  node.only({"gradients", "activations"});
  const auto ratio = [&](std::string_view key) {
    const auto given = node.find(key);
    if (!given) return 1.0;
    const double value = given->number();
    if (!(value > 0 && value <= 1)) given->fail("expected a ratio above 0 and at most 1");
    return value;
  };
  return {ratio("gradients"), ratio("activations")};
}

bool is_plan_file(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#' && line != "---") return line.starts_with("penstock_plan:");
  return false;
}

MixedPrecision read_precision(const Yaml& node) {
  if (node.is_scalar()) return word(node, mixed_precision);
  node.only({"weights", "gradients", "state", "master", "pass_gradients", "products"});
  const auto read = [&](std::string_view key, cluster::Precision otherwise) {
    const auto given = node.find(key);
    if (!given) return otherwise;
    const auto number = word(*given, cluster::precision);
    if (number == cluster::Precision::tf32)
      given->fail("tf32 is a rate of products, numbers are held in fp32");
    return number;
  };
  const auto weights = read("weights", word(node.at("weights"), cluster::precision));
  MixedPrecision out{weights, read("gradients", weights), read("state", weights), {}, {}};
  if (node.find("master")) out.master = read("master", weights);
  if (node.find("pass_gradients")) out.pass_gradients = read("pass_gradients", weights);
  if (const auto products = node.find("products")) out.products = word(*products, graph::product_format);
  return out;
}

std::string written(const MixedPrecision& precision) {
  if (const auto known = name(precision); !known.empty()) return std::string(known);
  std::string out = fmt::format("{{weights: {}, gradients: {}, state: {}", name(precision.weights),
                                name(precision.gradients), name(precision.state));
  if (precision.master) out += fmt::format(", master: {}", name(*precision.master));
  if (precision.pass_gradients) out += fmt::format(", pass_gradients: {}", name(*precision.pass_gradients));
  if (precision.products != graph::ProductFormat::stored)
    out += fmt::format(", products: {}", graph::name(precision.products));
  return out + "}";
}

std::string to_yaml(const graph::OpGraph& graph, const Plan& plan) {
  std::string out = fmt::format("penstock_plan: 1\nmodel:\n  name: {}\n", quoted(plan.model.name));
  if (!plan.model.label.empty()) out += fmt::format("  label: {}\n", quoted(plan.model.label));
  if (!plan.model.parameters.empty()) out += "  parameters:\n";
  for (const auto& [key, value] : plan.model.parameters)
    out += fmt::format("    {}: {}\n", quoted(key), written_value(value));
  out += fmt::format("cluster: {{name: {}, devices: {}", quoted(plan.cluster.name), plan.cluster.devices);
  if (!plan.cluster.runtime.empty()) out += ", runtime: " + quoted(plan.cluster.runtime);
  if (plan.cluster.reserved) out += fmt::format(", reserved: {}B", plan.cluster.reserved->value());
  out += fmt::format("}}\nplanner: {}\n", quoted(plan.planner));
  out += training_text(plan.training) + fmt::format("schedule: {}\nstages:\n", quoted(plan.schedule));
  const StageNumbers numbers(plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (plan.stages[s].part.before > 0) continue;
    const bool colocated = bool(plan.stages[s].part);
    Stage stage = colocated ? whole_stage(plan, numbers.parts.at(numbers.of_stage[s])) : plan.stages[s];
    stage.after = numbers.written(stage.after);
    out += stage_text(graph, plan, stage, colocated);
  }
  return out;
}

Plan written_to(const std::string& file, Plan plan) {
  for (std::string* name : {&plan.model.name, &plan.cluster.name, &plan.schedule})
    if (core::names_file(*name)) *name = core::path_for(file, *name);
  return plan;
}

PlanHead parse_plan_head(const std::string& text, const std::string& file) {
  return read_head(Yaml::parse(text, file), file);
}

Plan parse_plan(const std::string& text, const std::string& file, const graph::OpGraph& graph) {
  const Yaml root = Yaml::parse(text, file);
  const PlanHead head = read_head(root, file);
  std::unordered_map<std::string, OpId> by_name;
  for (std::size_t v = 0; v < graph.size(); ++v) by_name.emplace(graph.op(OpId(v)).name, OpId(v));

  Plan plan{head.model, head.cluster, "hand", {}, "1f1b", {}};
  if (const auto planner = root.find("planner")) plan.planner = planner->text();
  plan.training = read_training(root.at("training"));
  if (const auto node = root.find("schedule")) plan.schedule = found_from(file, node->text());
  plan.stages = read_stages(root.at("stages"), by_name);
  return plan;
}

}  // namespace penstock::plan
