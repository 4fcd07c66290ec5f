// Parts of a problem: models, clusters, costs, and how it is trained.

#include "penstock/experiment/inputs.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <set>

#include "bind.hpp"
#include "models/catalogue.hpp"
#include "penstock/cluster/reserved.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/named_fault.hpp"
#include "penstock/frameworks/hf_config.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/plan/mixed_precision.hpp"
#include "penstock/plan/plan_file.hpp"
#include "values.hpp"

namespace penstock::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using Parameters = std::map<std::string, std::string>;

Model built(plan::ModelRef ref, std::vector<std::string> notes = {}) {
  auto graph = std::make_shared<const graph::OpGraph>(experiment::load_model(ref));
  return {std::move(graph), std::move(ref), std::move(notes)};
}

Model built(frameworks::NamedModel named, std::vector<std::string> notes = {}) {
  Model out = built(std::move(named.model), std::move(notes));
  out.precision = std::move(named.precision);
  out.tokens_stated = named.tokens_stated;
  return out;
}

const std::string& short_name(const plan::ModelRef& ref) {
  return ref.label.empty() ? ref.name : ref.label;
}

Model zoo(const std::string& name, const Parameters& parameters) {
  if (experiment::is_model_file(name)) throw core::BadInput(name + " is a file: penstock.load reads it");
  Model out = built(experiment::named_model({name, parameters}));
  out.released = out.ref.name != name && models::is_language_model(out.ref.name);
  return out;
}

Model load_model(const std::string& path, const Parameters& parameters) {
  const std::string file = experiment::model_file_of(path);
  if (!experiment::is_model_file(file))
    throw core::BadInput(path + " is no model file: the names of these end in .json, .yaml or .yml");
  return core::naming(file, [&] {
    Model out = built(experiment::named_model({file, parameters}));
    out.released = models::is_language_model(out.ref.name);
    return out;
  });
}

Model import_hf(const std::string& path, std::optional<std::int64_t> sequence) {
  const std::string file = experiment::model_file_of(path);
  auto read = frameworks::parse_hf_config(core::read_file(file), file,
                                          frameworks::SampleTokens{sequence, frameworks::kUsualTokens});
  Model out =
      built(frameworks::NamedModel{std::move(read.model), std::move(read.precision), sequence.has_value()},
            std::move(read.notes));
  out.released = models::is_language_model(out.ref.name);
  return out;
}

using Operators = nb::typed<nb::list, nb::typed<nb::dict, nb::str, nb::object>>;

Operators operators(const Model& model) {
  Operators out;
  for (const graph::Operator& op : model.graph->operators()) {
    nb::dict one;
    one["name"] = op.name.c_str();
    one["kind"] = std::string(name(op.kind)).c_str();
    one["parameters"] = op.parameters;
    one["forward_flops"] = op.forward_flops.value();
    one["output_bytes"] = op.output_bytes.value();
    one["saved_bytes"] = op.saved_bytes.value();
    out.append(one);
  }
  return out;
}

void bind_model(nb::module_& m) {
  nb::class_<Model>(m, "Model", "A network: operators, their work and their tensors. Immutable.")
      .def_prop_ro(
          "name", [](const Model& model) { return model.ref.name; }, "Name in the zoo, or a file.")
      .def_prop_ro(
          "parameters", [](const Model& model) { return model.ref.parameters; },
          "The zoo's parameters that were set.")
      .def_prop_ro(
          "label", [](const Model& model) { return experiment::model_name(model.ref); },
          "Name in tables: that of its file or of the Hub, or name and parameters.")
      .def_prop_ro(
          "precision",
          [](const Model& model) {
            return model.precision.empty() ? std::nullopt : std::optional(model.precision);
          },
          "Precision for training in its file; None if the file has none.")
      .def_prop_ro(
          "weights", [](const Model& model) { return model.graph->parameters(); },
          "Count of trainable numbers.")
      .def_prop_ro(
          "forward_flops", [](const Model& model) { return model.graph->forward_flops().value(); },
          "FLOPs of the forward pass per sample; a multiply-add counts as two.")
      .def_prop_ro(
          "element_bytes", [](const Model& model) { return model.graph->element_bytes(); },
          "Bytes of one number.")
      .def_prop_ro(
          "tokens", [](const Model& model) { return graph::tokens(*model.graph); },
          "Tokens of a sample; None for a model without attention.")
      .def_prop_ro(
          "notes", [](const Model& model) { return model.notes; },
          "Parts that the reader left out, in words.")
      .def_prop_ro("operators", operators,
                   "One dict per operator, producers first: name, kind, parameters (count), forward_flops, "
                   "output_bytes and saved_bytes (per sample).")
      .def("__len__", [](const Model& model) { return model.graph->size(); })
      .def(
          "to_json", [](const Model& model) { return graph::to_json(*model.graph); },
          "The text of a model file.")
      .def(
          "to_dot", [](const Model& model) { return graph::to_dot(*model.graph); },
          "A Graphviz picture of the graph.")
      .def("__repr__", [](const Model& model) {
        return fmt::format("<penstock.Model {}: {} operators, {:.1f} M parameters, {:.2f} GFLOP forward>",
                           short_name(model.ref), model.graph->size(),
                           static_cast<double>(model.graph->parameters()) * 1e-6,
                           model.graph->forward_flops().value() * 1e-9);
      });
  m.def("zoo", zoo, "name"_a, "parameters"_a);
  m.def("load_model", load_model, "path"_a, "parameters"_a);
  m.def("import_hf", import_hf, "path"_a, "sequence"_a.none());
}

std::size_t nodes(const Cluster& cluster) {
  std::set<int> out;
  for (const cluster::Device& device : cluster.cluster->devices()) out.insert(device.node);
  return out.size();
}

std::vector<std::string> types(const Cluster& cluster) {
  std::vector<std::string> out;
  for (const cluster::Device& device : cluster.cluster->devices())
    out.push_back(cluster.cluster->types()[device.type].name);
  return out;
}

void bind_cluster(nb::module_& m) {
  nb::class_<Cluster>(
      m, "Cluster",
      "Devices and the links between them. Immutable.\n"
      "\n"
      "Args:\n"
      "    name: A built-in cluster (`penstock clusters`), a short form such as 8xH100x32, or a cluster "
      "file.\n"
      "    devices: How many devices, counted from the first. None: all.\n"
      "    framework: Training framework, which decides launch times and fused kernels, such as megatron or "
      "torchtitan+compiled; or a time such as 5us/kernel. None: as in the file; megatron with built-in curves "
      "and kernel tables.\n"
      "    runtime: Another name of `framework`.\n"
      "\n"
      "Raises:\n"
      "    BadInput: The name is unknown or the file is malformed.\n")
      .def(
          "__init__",
          [](Cluster* self, const std::string& name, std::optional<int> devices,
             const std::optional<std::string>& framework, const std::optional<std::string>& runtime) {
            if (framework && runtime) throw core::BadInput("framework and runtime say the same: give one");
            if (devices && *devices < 1) throw core::BadInput("devices: expected at least 1");
            plan::ClusterRef ref{name, devices.value_or(0), framework ? *framework : runtime.value_or("")};
            auto cluster = std::make_shared<const cluster::Cluster>(experiment::load_cluster(ref));
            ref.devices = static_cast<int>(cluster->size());
            new (self) Cluster{std::move(cluster), std::move(ref)};
          },
          "name"_a, "devices"_a = nb::none(), "framework"_a = nb::none(), "runtime"_a = nb::none())
      .def_prop_ro("name", [](const Cluster& cluster) { return cluster.ref.name; })
      .def_prop_ro("nodes", nodes, "Number of hosts.")
      .def_prop_ro("types", types, "Name of each device's type.")
      .def("__len__", [](const Cluster& cluster) { return cluster.cluster->size(); })
      .def("__repr__", [](const Cluster& cluster) {
        return fmt::format("<penstock.Cluster {}: {} devices on {} nodes>", cluster.ref.name,
                           cluster.cluster->size(), nodes(cluster));
      });
}

/// Setting as given to Problem.
struct ProblemSetting {
  std::int64_t mini_batch = 1;
  std::optional<std::string> optimizer, precision;
  std::optional<core::Bytes> reserved;
  std::int64_t bucket = 0;
  double gradients = 1, activations = 1;
};

std::optional<core::Bytes> reserve_of(
    const std::optional<std::variant<std::int64_t, std::string>>& reserved) {
  if (!reserved) return {};
  if (const auto* text = std::get_if<std::string>(&*reserved)) return cluster::reserve(*text);
  const std::int64_t bytes = std::get<std::int64_t>(*reserved);
  if (bytes < 0) throw core::BadInput({"", 0, "reserved"}, "expected bytes, 0 or more");
  return core::Bytes(bytes);
}

void check_ratio(const char* key, double ratio) {
  if (!(ratio > 0 && ratio <= 1))
    throw core::BadInput({"", 0, key}, "expected a ratio above 0 and at most 1");
}

plan::Training training(const ProblemSetting& setting, const experiment::ChosenTraining& chosen) {
  if (setting.mini_batch < 1 || setting.mini_batch > plan::kMostSamples)
    throw core::BadInput({"", 0, "mini_batch"}, fmt::format("expected 1 to {}", plan::kMostSamples));
  if (setting.bucket < 0) throw core::BadInput({"", 0, "bucket"}, "expected bytes, 0 or more");
  check_ratio("gradient_compression", setting.gradients);
  check_ratio("activation_compression", setting.activations);
  plan::Training out{setting.mini_batch, chosen.optimizer};
  out.compression = {setting.gradients, setting.activations};
  out.precision = chosen.precision;
  out.bucket = core::Bytes(setting.bucket);
  return out;
}

experiment::ChosenTraining chosen_by(const Model& model, const Cluster& given,
                                     const ProblemSetting& setting) {
  const cluster::Cluster& cluster = *given.cluster;
  experiment::StatedTraining stated{{}, setting.precision, setting.reserved.has_value(), given.ref.runtime};
  if (setting.optimizer) stated.optimizer = plan::optimizer(*setting.optimizer);
  return experiment::choose_training(model.named(), cluster, stated);
}

/// The cluster without the reserve.
Cluster less_reserve(const Cluster& cluster, std::optional<core::Bytes> reserved) {
  if (!reserved) return cluster;
  Cluster out{std::make_shared<const cluster::Cluster>(cluster.cluster->reserving(*reserved)), cluster.ref};
  out.ref.reserved = reserved;
  return out;
}

Problem problem(const Model& model, const Cluster& given, const ProblemSetting& setting,
                const std::optional<std::string>& costs, bool allow_foreign) {
  const experiment::ChosenTraining chosen = chosen_by(model, given, setting);
  const Cluster cluster = less_reserve(given, setting.reserved ? setting.reserved : chosen.reserved);
  Problem out{model, cluster, experiment::load_costs(costs), training(setting, chosen), costs};
  const bool by_file = !chosen.reserved && cluster.cluster->types().front().reserved.value() > 0;
  out.stated = {.precision = setting.precision.has_value(),
                .optimizer = setting.optimizer.has_value(),
                .tokens = model.tokens_stated,
                .reserved = setting.reserved.has_value() || by_file,
                .costs = costs.has_value(),
                .precision_note = chosen.precision_note,
                .framework = cluster.ref.runtime};
  // A model of the zoo is built again in the numbers that hold its weights.
  plan::ModelRef ref = experiment::in_numbers_of(out.training, model.ref);
  if (model.released) out.stated.attention = !experiment::choose_attention(ref);
  if (ref.parameters != model.ref.parameters) {
    out.model = built(frameworks::NamedModel{ref, model.precision, model.tokens_stated}, model.notes);
    out.model.released = model.released;
  }
  if (!allow_foreign) experiment::check_device(*out.costs, *cluster.cluster);
  out.cluster.cluster =
      std::make_shared<const cluster::Cluster>(cost::measured_by(*out.costs, *cluster.cluster));
  return out;
}

void bind_problem(nb::module_& m) {
  nb::class_<Problem>(
      m, "Problem",
      "A model, the devices that train it, and how. Immutable.\n"
      "\n"
      "Args:\n"
      "    mini_batch: Samples of an iteration.\n"
      "    optimizer: sgd, momentum, adam, lion, muon or adam8bit. None: adam for language models (with a vocabulary), sgd for "
      "others.\n"
      "    precision: fp32, bf16, mixed_bf16, mixed_fp16, deepspeed_bf16, fp8_delayed, fp8_current, fp8_block,\n"
      "        mxfp8 or nvfp4. None: for language models that "
      "of their\n"
      "        file, or mixed_bf16; for others the model's numbers.\n"
      "    reserved: Memory of each device for the framework: bytes, 2.5GiB, or a framework's name "
      "(megatron,\n"
      "        deepspeed). None: as in the cluster's file; for language models on GPUs megatron's.\n"
      "    costs: A calibration, kernel tables or profile file, or 'data_sheet'. None: built-in efficiency "
      "curves.\n"
      "    allow_foreign: Accept costs of other devices.\n"
      "    bucket: Bytes of gradients that are reduced together.\n"
      "    gradient_compression: Bytes sent per byte of gradients.\n"
      "    activation_compression: Bytes sent per byte of activations.\n"
      "\n"
      "Raises:\n"
      "    BadInput: An argument or a file is malformed.\n")
      .def(
          "__init__",
          [](Problem* self, const Model& model, const Cluster& cluster, std::int64_t mini_batch,
             const std::optional<std::string>& optimizer, const std::optional<std::string>& precision,
             const std::optional<std::variant<std::int64_t, std::string>>& reserved,
             const std::optional<std::string>& costs, bool allow_foreign, std::int64_t bucket,
             double gradient_compression, double activation_compression) {
            const ProblemSetting setting{mini_batch,
                                         optimizer,
                                         precision,
                                         reserve_of(reserved),
                                         bucket,
                                         gradient_compression,
                                         activation_compression};
            new (self) Problem(problem(model, cluster, setting, costs, allow_foreign));
          },
          "model"_a, "cluster"_a, "mini_batch"_a, nb::kw_only(), "optimizer"_a = nb::none(),
          "precision"_a = nb::none(), "reserved"_a = nb::none(), "costs"_a = nb::none(),
          "allow_foreign"_a = false, "bucket"_a = plan::kUsualBucket.value(), "gradient_compression"_a = 1.0,
          "activation_compression"_a = 1.0)
      .def_ro("model", &Problem::model, "The model, in the numbers of its weights.")
      .def_ro("cluster", &Problem::cluster)
      .def_prop_ro(
          "mini_batch", [](const Problem& p) { return p.training.mini_batch; }, "Samples per iteration.")
      .def_prop_ro("optimizer", [](const Problem& p) { return std::string(name(p.training.optimizer)); })
      .def_prop_ro(
          "assumptions", [](const Problem& p) { return in_python_words(p.assumptions()); },
          "Assumptions and given values in one line, each with the keyword that changes it.")
      .def_prop_ro(
          "precision",
          [](const Problem& p) {
            return p.training.precision ? std::optional(plan::written(*p.training.precision)) : std::nullopt;
          },
          "Name of the precision; None: everything in the model's numbers.")
      .def_prop_ro(
          "costs", [](const Problem& p) { return cost::source_of(*p.costs, *p.cluster.cluster); },
          "Origin of the operators' times, in words.")
      .def("__repr__", [](const Problem& p) {
        return fmt::format("<penstock.Problem {} on {} devices of {}, mini-batch {}>",
                           short_name(p.model.ref), p.cluster.cluster->size(), p.cluster.ref.name,
                           p.training.mini_batch);
      });
}

}  // namespace

void bind_inputs(nb::module_& m) {
  bind_model(m);
  bind_cluster(m);
  bind_problem(m);
}

}  // namespace penstock::python
