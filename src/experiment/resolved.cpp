#include "resolved.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "penstock/core/digest.hpp"
#include "penstock/core/files.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/graph/graph_file.hpp"

namespace penstock::experiment {
namespace {

using Json = nlohmann::ordered_json;

Json model(const plan::ModelRef& ref) {
  return {{"name", ref.name},
          {"parameters", ref.parameters},
          {"content", core::digest(graph::to_json(load_model(ref)))}};
}

Json cluster(const plan::ClusterRef& ref) {
  return {{"file", ref.name}, {"devices", ref.devices}, {"content", core::digest(core::read_file(ref.name))}};
}

Json file_or(const std::optional<std::string>& file, const Json& otherwise) {
  if (!file) return otherwise;
  return {{"file", *file}, {"content", core::digest(core::read_file(*file))}};
}

Json search(const Search& search) {
  return {{"per_stage_micro_batch", search.per_stage_micro_batch},
          {"any_degree", search.any_degree},
          {"k", search.k}};
}

/// A family, or a file.
Json schedule(const std::string& name) {
  if (name.ends_with(".csv")) return file_or(name, {});
  return name.empty() ? "planned" : name;
}

Json training(const plan::Training& training) {
  return {
      {"mini_batch", training.mini_batch},
      {"optimizer", plan::name(training.optimizer)},
      {"compression",
       {{"gradients", training.compression.gradients}, {"activations", training.compression.activations}}}};
}

Json simulation(const sim::SimulationOptions& options) {
  return {{"network", sim::name(options.network)},
          {"collective", sim::name(options.collective)},
          {"bucket_bytes", options.bucket.value()}};
}

Json memory(const cost::MemoryRule& rule) {
  return {{"weight_copies", rule.weight_copies},
          {"gradient_copies", rule.gradient_copies},
          {"activation_copies", rule.activation_copies},
          {"optimizer_state", rule.optimizer_state},
          {"transient", rule.transient}};
}

std::optional<std::string> read_costs(const Json& costs) {
  if (costs == "analytic") return std::nullopt;
  return costs.at("file").get<std::string>();
}

std::int64_t read_number(const Json& object, const char* key, std::int64_t most) {
  const Json& value = object.at(key);
  const auto number = value.is_number_integer() ? value.get<std::int64_t>() : -1;
  if (number < 0 || number > most)
    throw core::BadInput({"", 0, key}, fmt::format("expected a whole number from 0 to {}", most));
  return number;
}

sim::SimulationOptions read_simulation(const Json& simulation) {
  sim::SimulationOptions out;
  out.network = sim::network_model(simulation.at("network").get<std::string>());
  out.collective = sim::collective(simulation.at("collective").get<std::string>());
  out.bucket = core::Bytes(read_number(simulation, "bucket_bytes", std::numeric_limits<std::int64_t>::max()));
  return out;
}

cost::MemoryRule read_memory(const Json& memory) {
  cost::MemoryRule out;
  out.weight_copies = read_number(memory, "weight_copies", kMostCopies);
  out.gradient_copies = read_number(memory, "gradient_copies", kMostCopies);
  out.activation_copies = read_number(memory, "activation_copies", kMostCopies);
  out.optimizer_state = memory.at("optimizer_state").get<bool>();
  out.transient = memory.at("transient").get<bool>();
  return out;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(value->value()) : Json();
}

}  // namespace

std::string resolved(const Spec& spec, const Cell& cell, const std::string& program) {
  const Json out = {{"program", program},
                    {"model", model(cell.model)},
                    {"cluster", cluster(cell.cluster)},
                    {"imperfection", file_or(cell.imperfection, {})},
                    {"costs", file_or(spec.costs, "analytic")},
                    {"planner", {{"name", cell.planner.name}, {"options", cell.planner.options}}},
                    {"search", search(cell.search)},
                    {"schedule", schedule(cell.schedule)},
                    {"training", training(cell.training)},
                    {"micro_batch", cell.micro_batch ? Json(*cell.micro_batch) : Json()},
                    {"choose_by", spec.choose_by_simulation ? "simulation" : "estimate"},
                    {"simulation", simulation(cell.simulation)},
                    {"memory", memory(spec.memory)},
                    {"time_limit_s", or_null(spec.time_limit)},
                    {"memory_limit_bytes", or_null(spec.memory_limit)},
                    {"setting", setting_text(cell)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Judgement parse_judgement(const std::string& text, const std::string& file) try {
  const Json json = Json::parse(text);
  return {read_costs(json.at("costs")), read_simulation(json.at("simulation")),
          read_memory(json.at("memory")), json.at("setting").get<std::string>()};
} catch (const std::exception& e) {
  throw core::BadInput({file, 0, ""}, e.what());
}

}  // namespace penstock::experiment
