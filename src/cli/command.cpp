#include "command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "models/released.hpp"
#include "penstock/cluster/reserved.hpp"
#include "penstock/cluster/runtime.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/provenance.hpp"
#include "penstock/plan/mixed_precision.hpp"
#include "penstock/schedule/catalogue.hpp"

namespace penstock::cli {

void ModelFlags::add(CLI::App& command, bool required) {
  auto* model =
      command
          .add_option(
              "--model", name,
              "network by name (penstock models), such as llama3-70b or mmt; a model file, a model reference "
              "or a Hugging Face config (.json, .yaml); or a folder with a config.json")
          ->type_name("NAME|FILE")
          ->check(suggest(model_names()));
  if (required) model->required();
  command
      .add_option("-p,--parameter", parameters,
                  "a model parameter; can be repeated (penstock model NAME lists them)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--lora", lora,
                  "train only low-rank adapters: rank=N, with targets=attention (default), mlp or all, and "
                  "frozen=16 (default), 8 or 4 bits of the weights that do not train; as in "
                  "rank=16,targets=attention,frozen=4 (docs/lora.md)")
      ->type_name("SETTINGS");
}

frameworks::NamedModel ModelFlags::named() const {
  plan::ModelRef out{name, {}};
  for (const std::string& text : parameters) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw core::Error(core::ExitCode::usage, "-p " + text + ": expected KEY=VALUE");
    if (!out.parameters.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      throw core::Error(core::ExitCode::usage, "-p " + text + ": the parameter is given twice");
  }
  if (!lora.empty() && !out.parameters.emplace("lora", lora).second)
    throw core::Error(core::ExitCode::usage, "--lora: the parameter lora is given, too");
  return experiment::named_model(out);
}

namespace {

std::string reserve_names() {
  std::vector<std::string> names;
  for (const auto& each : cluster::reserves())
    names.push_back(fmt::format("{} ({})", each.name, core::show(each.bytes)));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "" for a text that `read` takes.
template <class Read>
std::string fault_of(const std::string& text, const Read& read) {
  try {
    read(text);
    return "";
  } catch (const core::BadInput& fault) {
    return fault.what();
  }
}

std::string runtime_names() {
  std::vector<std::string> names;
  for (const auto& named : cluster::runtimes()) names.push_back(named.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

CLI::Validator framework_name() {
  return CLI::Validator(
      [](const std::string& text) {
        return fault_of(text, [](const std::string& given) { cluster::runtime(given); });
      },
      "");
}

void ClusterFlags::add(CLI::App& command, bool required) {
  auto* cluster =
      command
          .add_option(
              "--cluster,--gpus", file,
              "GPUs per node, their type and nodes, as 8xH100x32; a built-in cluster (penstock clusters); "
              "or a cluster file (.yaml)")
          ->type_name("NAME|FILE")
          ->check(suggest(cluster_names()));
  if (required) cluster->required();
  command
      .add_option("--devices", devices,
                  required ? "number of devices to use, the first ones of the cluster; default: all"
                           : "number of devices to use; default: from the plan")
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->type_name("N");
  add_host(command, required);
}

void ClusterFlags::add_host(CLI::App& command, bool required) {
  command
      .add_option(
          "--framework,--runtime", runtime,
          "training framework, which decides launch times of hosts and fused kernels: " + runtime_names() +
              "; with torch.compile as torchtitan+compiled; or a time such as 5us/kernel or "
              "50us/task. Default: from " +
              (required ? "" : "the plan, or ") +
              "the cluster file; megatron with built-in curves and kernel tables; else none")
      ->check(framework_name())
      ->type_name("NAME|TIME");
  command
      .add_option(
          "--reserved", reserved_text,
          fmt::format(
              "memory per device to leave free for the framework: bytes, 0, or the name of a framework: {}. "
              "Default: {}",
              reserve_names(),
              required ? "from the cluster file; for language models on GPUs " +
                             core::show(cluster::reserves().front().bytes)
                       : "from the plan, or the cluster file"))
      ->check([](const std::string& text) {
        return fault_of(text, [](const std::string& given) { cluster::reserve(given); });
      })
      ->type_name("SIZE|NAME");
}

std::optional<core::Bytes> ClusterFlags::reserved() const {
  return reserved_text.empty() ? std::nullopt : std::optional(cluster::reserve(reserved_text));
}

CLI::Validator samples() {
  return CLI::Validator(
      [](std::string& given) {
        std::int64_t count = 0;
        const char* end = given.data() + given.size();
        const auto [rest, fault] = std::from_chars(given.data(), end, count);
        const bool right = fault == std::errc() && rest == end && count >= 1 && count <= plan::kMostSamples;
        return right
                   ? std::string()
                   : fmt::format("expected a whole number from 1 to {}, not '{}'", plan::kMostSamples, given);
      },
      "");
}

CLI::Validator seeds() {
  return CLI::Range(std::int64_t{0}, std::int64_t{1} << 62).description("");
}

CLI::Validator one_of(std::vector<std::string> known) {
  const std::string names = fmt::format("{}", fmt::join(known, " "));
  return CLI::Validator(
      [known = std::move(known)](std::string& given) {
        const bool found = std::find(known.begin(), known.end(), given) != known.end();
        return found ? std::string() : "'" + given + "' is unknown; " + core::did_you_mean_name(given, known);
      },
      "", names);
}

CLI::Validator suggest(const std::vector<std::string>& known) {
  return CLI::Validator([](std::string&) { return std::string(); }, "",
                        fmt::format("{}", fmt::join(known, " ")));
}

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const auto& info : planners::catalogue()) names.push_back(info.name);
  return names;
}

std::vector<std::string> model_names() {
  return models::known_names();
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& info : schedule::families()) names.push_back(info.name);
  return names;
}

void CostFlags::add(CLI::App& command) {
  auto* costs =
      command
          .add_option(
              "--costs", file,
              "data_sheet, or a file: a calibration, kernel tables, or a profile of operator times; default: "
              "built-in efficiency curves of measured GPUs")
          ->type_name("FILE");
  command
      .add_flag("--allow-foreign", allow_foreign,
                "accept a calibration of another device; the results state it")
      ->needs(costs);
}

std::shared_ptr<const cost::CostModel> CostFlags::load(const cluster::Cluster& cluster) const {
  auto costs = experiment::load_costs(file);
  if (allow_foreign) return costs;
  try {
    experiment::check_device(*costs, cluster);
  } catch (const core::BadInput& e) {
    throw core::BadInput({*file, 0, ""}, std::string(e.what()) + " (--allow-foreign)");
  }
  return costs;
}

void SimulationFlags::add(CLI::App& command) {
  const std::vector<std::string_view>& collectives = sim::collective_names();  // the closed form is the first
  command
      .add_option("--network", network,
                  "how simulated transfers share a link: fair (max-min) or fifo (one after the other)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"fair", "fifo"}));
  command
      .add_option(
          "--collective", collective,
          fmt::format(
              "all-reduce of gradients: closed_form (time by formula, uses no link), or messages over the "
              "network: {}",
              fmt::join(collectives.begin() + 1, collectives.end(), ", ")))
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({collectives.begin(), collectives.end()}));
  command
      .add_option(
          "--pass-collectives", pass_collectives,
          "collectives within a pass (tensor, context and expert parallelism, ZeRO): closed_form (time by "
          "formula, uses no link) or links (messages that share links with all others)")
      ->capture_default_str()
      ->type_name("NAME")
      ->check(one_of({"closed_form", "links"}));
}

sim::SimulationOptions SimulationFlags::options() const {
  return {.network = sim::network_model(network),
          .collective = sim::collective(collective),
          .pass_collectives = sim::pass_collectives(pass_collectives)};
}

namespace {

CLI::Validator ratio() {
  return CLI::Validator(
      [](std::string& given) {
        double value = 0;
        if (CLI::detail::lexical_cast(given, value) && value > 0 && value <= 1) return std::string();
        return "expected a ratio above 0 and at most 1, not '" + given + "'";
      },
      "");
}

}  // namespace

void CompressionFlags::add(CLI::App& command) {
  command
      .add_option("--gradient-compression", gradients,
                  "bytes sent per byte of gradients between replicas, above 0 and at most 1")
      ->type_name("R")
      ->check(ratio());
  command
      .add_option("--activation-compression", activations,
                  "bytes sent per byte between stages, forward and backward, above 0 and at most 1")
      ->type_name("R")
      ->check(ratio());
}

void CompressionFlags::apply(plan::Compression& compression) const {
  compression.gradients = gradients.value_or(compression.gradients);
  compression.activations = activations.value_or(compression.activations);
}

void BucketFlag::add(CLI::App& command) {
  command
      .add_option("--bucket", text,
                  "bytes of gradients per all-reduce; all-reduces overlap the last backward pass. 0B: one "
                  "all-reduce after that pass. Default: from the plan, or 25MiB")
      ->type_name("BYTES");
}

void BucketFlag::apply(plan::Training& training) const {
  if (text.empty()) return;
  const auto bytes = core::parse_bytes(text);
  if (!bytes || bytes->value() < 0)
    throw core::Error(core::ExitCode::usage, "--bucket: expected bytes such as 25MiB, not '" + text + "'");
  training.bucket = *bytes;
}

void PrecisionFlag::add(CLI::App& command) {
  command
      .add_option(
          "--precision", name,
          "fp32 or bf16: everything; mixed_bf16: bf16 weights, fp32 gradients and master weights; "
          "mixed_fp16: fp16 weights and gradients; deepspeed_bf16: mixed_bf16 with bf16 gradients within a "
          "pass; fp8_delayed, fp8_current, fp8_block, mxfp8, nvfp4: mixed_bf16 whose layers multiply in 8 or 4 "
          "bits, by Transformer Engine's recipe. Default: for language models mixed training in the dtype of the config (bfloat16: mixed_bf16), or mixed_bf16 (mixed_fp16 or fp32 if devices have no bf16 rate); for other models the model's own numbers")
      ->type_name("NAME")
      ->check([](const std::string& text) {
        return text == "fp8"
                   ? "fp8 has four recipes: fp8_delayed, fp8_current, fp8_block and mxfp8 (Blackwell)"
               : text == "fp4" ? "fp4 has one recipe: nvfp4"
                               : "";
      })
      ->check(one_of({plan::precision_names().begin(), plan::precision_names().end()}));
}

void TimeLimitFlag::add(CLI::App& command) {
  command
      .add_option("--time-limit", text,
                  "time limit of each search; the planner then returns its best plan so far, marked as such. "
                  "Results then depend on the machine. Default: none")
      ->type_name("TIME");
}

std::optional<core::Seconds> TimeLimitFlag::value() const {
  if (text.empty()) return std::nullopt;
  const auto time = core::parse_seconds(text);
  if (!time)
    throw core::Error(core::ExitCode::usage, "--time-limit: expected a time such as 10s, not '" + text + "'");
  return time;
}

void MemoryLimitFlag::add(CLI::App& command) {
  command
      .add_option(
          "--memory-limit", text,
          "limit on the growth of this process during a search; the planner then returns its best plan so "
          "far, marked as such; or none")
      ->capture_default_str()
      ->type_name("BYTES");
}

std::optional<core::Bytes> MemoryLimitFlag::value() const {
  if (text == "none") return std::nullopt;
  const auto bytes = core::parse_bytes(text);
  if (!bytes)
    throw core::Error(core::ExitCode::usage,
                      "--memory-limit: expected bytes such as 4GiB, or none, not '" + text + "'");
  return bytes;
}

void add_threads(CLI::App& command, int& threads) {
  command
      .add_option("-j,--threads", threads,
                  "number of threads; results do not depend on it; default: all cores")
      ->check(CLI::Range(1, 1 << 10).description(""))
      ->type_name("N");
}

void add_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "print JSON instead of a table");
}

report::Provenance provenance(const CommandContext& session) {
  return experiment::provenance(session.command_line);
}

std::string program(const report::Provenance& provenance) {
  return experiment::program(provenance, "/proc/self/exe");
}

}  // namespace penstock::cli
