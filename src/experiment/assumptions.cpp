#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "assumptions_json.hpp"
#include "models/catalogue.hpp"
#include "penstock/cluster/reserved.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/curve_costs.hpp"
#include "penstock/experiment/spec.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::experiment {
namespace {

using cluster::Precision;

bool all_have(const cluster::Cluster& cluster, Precision precision) {
  return std::ranges::all_of(cluster.types(), [precision](const cluster::DeviceType& type) {
    return type.peak[static_cast<std::size_t>(precision)].value() > 0;
  });
}

/// Chooses a 16-bit precision for which all devices have a rate.
void choose_precision(const std::string& wanted, const cluster::Cluster& cluster, ChosenTraining& out) {
  const bool fp16 = wanted == "mixed_fp16", half = wanted.starts_with("mixed");
  const Precision first = fp16 ? Precision::fp16 : Precision::bf16,
                  second = fp16 ? Precision::bf16 : Precision::fp16;
  std::string chosen = wanted;
  if (half && !all_have(cluster, first)) {
    chosen = all_have(cluster, second) ? (fp16 ? "mixed_bf16" : "mixed_fp16") : "fp32";
    out.precision_note = fmt::format("a device states no {} rate", name(first));
  }
  out.precision = plan::mixed_precision(chosen);
}

std::string precision_words(const cost::Problem& problem, const std::string& note) {
  constexpr int kFull = 4;
  const auto& precision = problem.training.precision;
  const std::string words = precision                                ? plan::written(*precision)
                            : problem.graph.element_bytes() == kFull ? "fp32"
                                                                     : "16-bit numbers";
  std::vector<std::string> notes;
  if (!note.empty())
    notes.push_back(note);
  else if (problem.graph.products() != graph::ProductFormat::stored)
    notes.emplace_back("products as efficient as in 16 bits, not measured");
  if (problem.graph.adapter_rank() > 0) notes.emplace_back("adapters by the data sheet, not measured");
  return notes.empty() ? words : fmt::format("{}: {}", words, fmt::join(notes, "; "));
}

/// Parameter of a zoo model that sets the tokens per sample; "" if there is none.
std::string token_parameter(const std::string& model) {
  for (const auto& info : models::catalogue())
    if (info.name == model)
      for (const auto& parameter : info.parameters)
        if (parameter.name == "sequence" || parameter.name == "text") return parameter.name;
  return "";
}

core::Bytes reserved(const cluster::Cluster& cluster) {
  core::Bytes most{};
  for (const auto& type : cluster.types()) most = std::max(most, type.reserved);
  return most;
}

/// `stated`: name or time of the runtime, or "".
std::string runtime_words(const cluster::Cluster& cluster, const std::string& stated) {
  if (!stated.empty() && stated != "none" && stated.find('/') == std::string::npos)
    return "framework " + stated;
  const cluster::FrameworkRuntime runtime = cluster.types().front().host();
  if (runtime.one_kernel() == core::Seconds(0)) return "no host times";
  const cluster::NamedRuntime& usual = cluster::usual_runtime();
  if (usual.runtime == runtime) return "framework " + usual.name;
  for (const auto& named : cluster::runtimes())
    if (named.runtime == runtime) return "framework " + named.name;
  const auto part = [](core::Seconds time, const char* of) {
    return time.value() > 0 ? fmt::format("{} per {}", core::show(time), of) : std::string();
  };
  const std::string kernel = part(runtime.per_kernel, "kernel"), task = part(runtime.per_task, "task");
  return "host times of " + kernel + (kernel.empty() || task.empty() ? "" : ", ") + task;
}

std::string one(const ProblemAssumption& assumption, const std::string& option) {
  return option.empty() || !assumption.assumed ? assumption.words
                                               : fmt::format("{} ({})", assumption.words, option);
}

std::string listed(const Assumptions& assumptions, bool assumed, std::string ProblemAssumption::*option) {
  std::string out;
  for (const ProblemAssumption& each : assumptions)
    if (each.assumed == assumed) out += (out.empty() ? "" : ", ") + one(each, each.*option);
  return out;
}

std::string words(const Assumptions& assumptions, std::string ProblemAssumption::*option) {
  const std::string assumed = listed(assumptions, true, option), given = listed(assumptions, false, option);
  if (assumed.empty()) return "given: " + given;
  return "assumed: " + assumed + (given.empty() ? "" : "; given: " + given);
}

}  // namespace

std::string in_words(const Assumptions& assumptions) {
  return words(assumptions, &ProblemAssumption::option);
}

std::string in_python_words(const Assumptions& assumptions) {
  return words(assumptions, &ProblemAssumption::keyword);
}

std::string json_text(const Assumptions& assumptions) {
  return to_json(assumptions).dump();
}

nlohmann::ordered_json to_json(const Assumptions& assumptions) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const ProblemAssumption& each : assumptions) {
    out[each.key] = {{"value", each.words}, {"assumed", each.assumed}};
    if (!each.option.empty()) out[each.key]["option"] = each.option;
  }
  return out;
}

ChosenTraining choose_training(const frameworks::NamedModel& model, const cluster::Cluster& cluster,
                               const StatedTraining& stated) {
  const bool language = models::is_language_model(model.model.name),
             own_numbers = model.model.parameters.contains("element_bytes");
  ChosenTraining out;
  out.optimizer = stated.optimizer.value_or(language ? plan::Optimizer::adam : plan::Optimizer::sgd);
  if (stated.precision)
    out.precision = plan::mixed_precision(*stated.precision);
  else if (language && !own_numbers)
    choose_precision(model.precision.empty() ? "mixed_bf16" : model.precision, cluster, out);
  if (const auto violation = plan::products_violation(cluster, {.precision = out.precision}))
    throw core::BadInput(*violation);
  if (!stated.reserved && language && cluster::takes_usual_reserve(cluster))
    out.reserved = cluster::reserve_of(stated.framework);
  return out;
}

bool choose_attention(plan::ModelRef& model) {
  constexpr const char* kAttention = "flash";
  const std::string usual = models::default_of(model.name, "attention");
  if (usual.empty() || usual == kAttention || model.parameters.contains("attention")) return false;
  model.label = model_name(model);
  model.parameters["attention"] = kAttention;
  return true;
}

std::optional<core::Bytes> usual_reserve(const cost::Problem& problem, const plan::Plan& plan) {
  if (plan.cluster.reserved || !models::is_language_model(plan.model.name) ||
      !cluster::takes_usual_reserve(problem.cluster))
    return {};
  const core::Bytes usual = cluster::reserves().front().bytes;
  const cluster::Cluster less = problem.cluster.reserving(usual);
  const bool fits = score::violations({problem.graph, less, problem.costs, problem.training}, plan).empty();
  return fits ? std::optional(usual) : std::nullopt;
}

StatedParts stated_by_plan(const plan::ClusterRef& ref, const cluster::Cluster& cluster, bool costs) {
  return {.precision = true,
          .optimizer = true,
          .tokens = true,
          .reserved = ref.reserved.has_value() || reserved(cluster).value() > 0,
          .costs = costs,
          .loss = true,
          .framework = ref.runtime};
}

Assumptions assumptions(const cost::Problem& problem, const plan::ModelRef& model,
                        const StatedParts& stated) {
  Assumptions out = {{"precision", precision_words(problem, stated.precision_note), "--precision",
                      "precision=", !stated.precision},
                     {"optimizer", std::string(name(problem.training.optimizer)), "--optimizer",
                      "optimizer=", !stated.optimizer}};
  if (const auto tokens = graph::tokens(problem.graph)) {
    const std::string parameter = token_parameter(model.name);
    const bool settable = !parameter.empty();
    out.push_back({"tokens", fmt::format("{} tokens per sample", *tokens),
                   settable ? fmt::format("-p {}=N", parameter) : "", settable ? parameter + "=" : "",
                   settable && !stated.tokens});
  }
  if (models::has_parameter(model.name, "loss")) {
    const auto loss = model.parameters.find("loss");
    const bool with = loss != model.parameters.end() && loss->second != "no";
    out.push_back({"loss", with ? "with the loss" : "without the loss", with ? "-p loss=no" : "-p loss=yes",
                   with ? "loss='no'" : "loss='yes'", !stated.loss});
  }
  if (!stated.attention)
    out.push_back({"attention", model.parameters.at("attention") + " attention", "-p attention=NAME",
                   "attention=", true});
  out.push_back({"mini_batch", fmt::format("mini-batch {}", problem.training.mini_batch),
                 graph::tokens(problem.graph) ? "--mini-batch, --tokens-per-batch" : "--mini-batch",
                 "mini_batch=", !stated.mini_batch});
  const core::Bytes held = reserved(problem.cluster);
  out.push_back({"reserved", held.value() == 0 ? "nothing reserved" : core::show(held) + " reserved",
                 "--reserved", "reserved=", !stated.reserved});
  out.push_back({"framework", runtime_words(problem.cluster, stated.framework), "--framework",
                 "framework=", stated.framework.empty()});
  // Curves have a more detailed line of their own.
  const bool curves = dynamic_cast<const cost::CurveCosts*>(&problem.costs) != nullptr &&
                      std::ranges::any_of(problem.cluster.types(), [](const cluster::DeviceType& type) {
                        return cost::curves_for(type).has_value();
                      });
  const std::string source =
      curves ? "built-in " + problem.costs.source() : cost::source_of(problem.costs, problem.cluster);
  out.push_back({"costs", source == "analytic" ? "analytic costs" : "costs: " + source, "--costs",
                 "costs=", !stated.costs});
  return out;
}

}  // namespace penstock::experiment
