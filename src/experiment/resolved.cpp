#include "resolved.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "penstock/core/json_text.hpp"
#include "penstock/core/paths.hpp"
#include "penstock/cost/curve_costs.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/snapshot.hpp"
#include "penstock/plan/plan_file.hpp"

namespace penstock::experiment {
namespace {

using OrderedJson = nlohmann::ordered_json;

void put(OrderedJson::object_t&) {}
template <class Value, class... Rest>
void put(OrderedJson::object_t& object, const char* key, Value&& value, Rest&&... rest) {
  object.emplace_back(key, OrderedJson(std::forward<Value>(value)));
  put(object, std::forward<Rest>(rest)...);
}

/// Builds an object from keys, each followed by its value. The library's own lists of pairs first become
/// arrays, which takes three times as long, and this runs for each cell of a grid.
template <class... Parts>
OrderedJson object(Parts&&... parts) {
  OrderedJson::object_t out;
  out.reserve(sizeof...(parts) / 2);
  put(out, std::forward<Parts>(parts)...);
  return out;
}

OrderedJson model(const InputSnapshot& inputs, const plan::ModelRef& ref) {
  return object("name", ref.name, "parameters", ref.parameters, "content", inputs.digest(ref));
}

OrderedJson cluster(const InputSnapshot& inputs, const plan::ClusterRef& ref) {
  OrderedJson out =
      object("file", ref.name, "devices", ref.devices, "runtime", ref.runtime, "content", inputs.digest(ref));
  if (ref.reserved) out["reserved_bytes"] = ref.reserved->value();
  return out;
}

OrderedJson file_or(const InputSnapshot& inputs, const std::optional<std::string>& file,
                    const OrderedJson& otherwise) {
  if (!file) return otherwise;
  return object("file", *file, "content", inputs.digest(*file));
}

/// A file; "analytic" for data sheets; or the digest of the built-in curves.
OrderedJson costs(const InputSnapshot& inputs, const std::optional<std::string>& costs) {
  if (is_costs_file(costs)) return file_or(inputs, costs, {});
  return costs ? OrderedJson("analytic") : object("curves", cost::digest_of_curves());
}

std::optional<std::string> read_costs(const OrderedJson& part, const std::string& file) {
  if (part.is_object() && part.contains("curves")) return std::nullopt;
  if (part.is_object()) return core::path_from(file, part.at("file").get<std::string>());
  return std::string(kDataSheet);
}

OrderedJson search(const CellSearch& search) {
  return object("per_stage_micro_batch", search.per_stage_micro_batch, "any_degree", search.any_degree, "k",
                search.k);
}

/// A family, or a file.
OrderedJson schedule(const InputSnapshot& inputs, const std::string& name) {
  if (is_order_file(name)) return file_or(inputs, name, {});
  return name.empty() ? "planned" : name;
}

OrderedJson training(const plan::Training& training) {
  OrderedJson out = object(
      "mini_batch", training.mini_batch, "optimizer", plan::name(training.optimizer), "compression",
      object("gradients", training.compression.gradients, "activations", training.compression.activations));
  if (training.precision) out["precision"] = plan::written(*training.precision);
  out["bucket_bytes"] = training.bucket.value();
  return out;
}

OrderedJson simulation(const sim::SimulationOptions& options) {
  OrderedJson out =
      object("network", sim::name(options.network), "collective", sim::name(options.collective));
  if (options.pass_collectives != sim::PassCollectives::closed_form)
    out["pass_collectives"] = sim::name(options.pass_collectives);
  return out;
}

OrderedJson memory(const cost::MemoryRule& rule) {
  return object("weight_copies", rule.weight_copies, "gradient_copies", rule.gradient_copies,
                "activation_copies", rule.activation_copies, "optimizer_state", rule.optimizer_state,
                "transient", rule.transient);
}

/// Path of a file; none if no file is named.
std::optional<std::string> read_file_of(const OrderedJson& part, const std::string& file) {
  if (!part.is_object()) return std::nullopt;
  return core::path_from(file, part.at("file").get<std::string>());
}

std::int64_t read_number(const OrderedJson& object, const char* key, std::int64_t most) {
  const OrderedJson& value = object.at(key);
  const auto number = value.is_number_integer() ? value.get<std::int64_t>() : -1;
  if (number < 0 || number > most)
    throw core::BadInput({"", 0, key}, fmt::format("expected a whole number from 0 to {}", most));
  return number;
}

sim::SimulationOptions read_simulation(const OrderedJson& simulation) {
  sim::SimulationOptions out;
  out.network = sim::network_model(simulation.at("network").get<std::string>());
  out.collective = sim::collective(simulation.at("collective").get<std::string>());
  if (simulation.contains("pass_collectives"))
    out.pass_collectives = sim::pass_collectives(simulation.at("pass_collectives").get<std::string>());
  return out;
}

cost::MemoryRule read_memory(const OrderedJson& memory) {
  cost::MemoryRule out;
  out.weight_copies = read_number(memory, "weight_copies", kMostCopies);
  out.gradient_copies = read_number(memory, "gradient_copies", kMostCopies);
  out.activation_copies = read_number(memory, "activation_copies", kMostCopies);
  out.optimizer_state = memory.at("optimizer_state").get<bool>();
  out.transient = memory.at("transient").get<bool>();
  return out;
}

OrderedJson or_null(const std::optional<std::int64_t>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}
template <class T>
OrderedJson or_null(const std::optional<T>& value) {
  return value ? OrderedJson(value->value()) : OrderedJson();
}

}  // namespace

std::string resolved(const Spec& spec, const Cell& cell, const std::string& program) {
  const InputSnapshot& inputs = *spec.inputs;
  OrderedJson out = object(
      "program", program, "model", model(inputs, cell.model), "cluster", cluster(inputs, cell.cluster),
      "imperfection", file_or(inputs, cell.perturbation, {}), "costs", costs(inputs, spec.costs), "planner",
      object("name", cell.planner.name, "options", cell.planner.options), "search", search(cell.search),
      "schedule", schedule(inputs, cell.schedule), "training", training(cell.training), "micro_batch",
      or_null(cell.micro_batch), "pipeline_micro_batch", or_null(cell.pipeline_micro_batch), "choose_by",
      spec.choose_by_simulation ? "simulation" : "estimate", "simulation", simulation(cell.simulation),
      "memory", memory(spec.memory), "time_limit_s", or_null(spec.time_limit), "memory_limit_bytes",
      or_null(spec.memory_limit), "one_by_one", spec.searches_one_by_one(), "setting", setting_text(cell));
  if (!cell.runnable_by.empty()) out["for"] = cell.runnable_by;
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

std::string resolved_for(const std::string& file, const std::string& resolved) {
  OrderedJson out = OrderedJson::parse(resolved);
  for (const char* key : {"cluster", "imperfection", "costs", "schedule"})
    if (OrderedJson& part = out[key]; part.is_object() && part.contains("file"))
      part["file"] = core::path_for(file, part.at("file").get<std::string>());
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

ScoringSetting parse_judgement(const std::string& text, const std::string& file) {
  const OrderedJson json = core::parse_json<OrderedJson>(text, file);
  try {
    return {read_costs(json.at("costs"), file), read_simulation(json.at("simulation")),
            read_memory(json.at("memory")), json.at("setting").get<std::string>(),
            read_file_of(json.value("imperfection", OrderedJson()), file)};
  } catch (const OrderedJson::exception& e) {
    throw core::BadInput({file, 0, ""}, e.what());
  } catch (const core::BadInput& e) {
    throw core::BadInput({file, 0, ""}, e.what());
  }
}

}  // namespace penstock::experiment
