#include "penstock/experiment/published_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "penstock/core/error.hpp"
#include "penstock/experiment/inputs.hpp"

namespace penstock::experiment {
namespace {

plan::ModelRef model_of(const report::PublishedRun& run) {
  const bool experts = run.block == "mixtral", latent = run.block == "deepseek_v3";
  plan::ModelRef out{run.block, run.parameters};
  const std::map<std::string, std::string> stated = {
      {"layers", std::to_string(run.layers)},
      {"hidden", std::to_string(run.hidden)},
      {"heads", std::to_string(run.heads)},
      {experts ? "expert_width" : "feed_forward", std::to_string(run.ffn)},
      {"sequence", std::to_string(run.sequence)},
      {"vocabulary", std::to_string(run.vocabulary)},
      {"loss", "yes"},
      {"element_bytes", std::to_string(run.element_bytes)}};
  for (const auto& [name, value] : stated)
    if (!out.parameters.emplace(name, value).second)
      throw core::BadInput(fmt::format("line {}: parameter {} has a column of its own", run.line, name));
  if (run.products != graph::ProductFormat::stored)
    out.parameters.emplace("products", graph::name(run.products));
  if (!latent) out.parameters.emplace("attention", run.attention);
  if (run.block == "llama" || experts) out.parameters.emplace("kv_heads", std::to_string(run.kv_heads));
  return out;
}

bool stated(const report::PublishedRun& run, std::string_view what) {
  return std::ranges::find(run.beside, what) != run.beside.end();
}

/// Precision of a run. Frameworks that train in 16 bits keep moments and master weights in fp32, some also
/// gradients.
std::optional<plan::MixedPrecision> precision_of(const report::PublishedRun& run) {
  if (run.element_bytes != 2) return {};
  if (run.products != graph::ProductFormat::stored) return plan::mixed_precision(graph::name(run.products));
  if (stated(run, "fp32 gradients beside bf16")) return plan::mixed_precision("deepspeed_bf16");
  return plan::mixed_precision(stated(run, "fp32 gradients") ? "mixed_bf16" : "mixed_fp16");
}

plan::Recomputation recomputation_of(const report::PublishedRun& run) {
  if (run.recompute == "full") return plan::kRecomputeLayers;
  return run.recompute == "selective" ? plan::kRecomputeCore : plan::Recomputation();
}

/// Bucket size of a run. By default Megatron-LM and DeepSpeed reduce gradients after the last backward pass
/// (unless Megatron-LM's --overlap-grad-reduce or DeepSpeed's option is set); FSDP does so during the pass.
core::Bytes bucket_of(const report::PublishedRun& run) {
  return run.zero >= 2 || stated(run, "overlap") ? plan::kUsualBucket : core::Bytes(0);
}

/// [layer] its stage.
std::vector<std::size_t> stage_of_layer(const report::PublishedRun& run) {
  std::vector<std::size_t> out;
  const std::int64_t stages = std::int64_t{run.pp} * run.vpp;
  for (std::size_t s = 0; s < static_cast<std::size_t>(stages); ++s)
    out.resize(out.size() + static_cast<std::size_t>(run.layers_per_stage.empty() ? run.layers / stages
                                                                                  : run.layers_per_stage[s]),
               s);
  return out;
}

/// Layer of an operator: "layer12.add1" belongs to layer 12; embeddings, the last norm and the head to none.
std::optional<std::size_t> layer_of(const std::string& name) {
  constexpr std::string_view kLayer = "layer";
  std::size_t number = 0;
  if (!name.starts_with(kLayer)) return {};
  const char* begin = name.data() + kLayer.size();
  return std::from_chars(begin, name.data() + name.size(), number).ec == std::errc() ? std::optional(number)
                                                                                     : std::nullopt;
}

std::vector<plan::Stage> stages_of(const report::PublishedRun& run, const graph::OpGraph& graph) {
  const auto width = static_cast<std::size_t>(run.devices / run.pp), ranks = static_cast<std::size_t>(run.pp);
  std::vector<plan::Stage> out(ranks * static_cast<std::size_t>(run.vpp));
  for (std::size_t s = 0; s < out.size(); ++s) {
    for (std::size_t d = 0; d < width; ++d) out[s].devices.emplace_back(s % ranks * width + d);
    out[s].micro_batch = run.micro_batch * run.dp;
    out[s].tensor_parallel = run.tp;
    out[s].context_parallel = run.cp;
    out[s].expert_parallel = run.ep;
    out[s].recompute = recomputation_of(run);
    out[s].zero = run.zero;
    out[s].sequence_parallel = run.tp > 1 && stated(run, "sequence parallelism");
    if (s > 0) out[s].after = {core::StageId(s - 1)};
  }
  // Operators are in topological order, so those outside layers are before the first layer or behind the
  // last.
  const auto stage_of = stage_of_layer(run);
  std::size_t stage = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (const auto layer = layer_of(graph.op(core::OpId(i)).name)) stage = stage_of[*layer];
    out[stage].operators.emplace_back(i);
  }
  return out;
}

}  // namespace

std::string unstated(const report::PublishedRun& run) {
  const bool gpt = run.block == "gpt";
  if (gpt && run.kv_heads != run.heads) return "grouped-query attention in gpt blocks";
  if (run.positions != (gpt ? "table" : "rope"))
    return run.positions + " positions in " + run.block + " blocks";
  return "";
}

PublishedProblem published_problem(const report::PublishedRun& run) {
  if (const std::string what = unstated(run); !what.empty())
    throw core::BadInput(fmt::format("run {} has {}, which the zoo does not", run.id, what));
  const auto build = [&] {
    try {
      return load_model(model_of(run));
    } catch (const core::BadInput& fault) {
      throw core::BadInput(fmt::format("line {}: run {}: {}", run.line, run.id, fault.what()));
    }
  };
  PublishedProblem out{build(), {}};
  out.plan.model = model_of(run);
  out.plan.cluster = {run.cluster, run.devices};
  out.plan.planner = "published";
  out.plan.schedule = run.schedule;
  out.plan.training = {run.mini_batch, plan::Optimizer::adam, {}, precision_of(run), bucket_of(run)};
  out.plan.stages = stages_of(run, out.graph);
  return out;
}

}  // namespace penstock::experiment
