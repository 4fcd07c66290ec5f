// Frameworks on torch.distributed.pipelining: torchtitan, NeMo AutoModel, and PyTorch itself.

#include <fmt/format.h>

#include "writers.hpp"

namespace penstock::frameworks {
namespace {

const ModuleNames& hf_llama_names() {
  static const ModuleNames names{
      {"model.embed_tokens"}, "model.layers.", {"model.norm", "lm_head"}, {"model.rotary_emb"}};
  return names;
}

/// Names in transformers' classes; another model's layers have the names of the zoo.
ModuleNames torch_names(const Handover& handover) {
  const std::string& family = handover.plan.model.name;
  if (family == "llama") return {{}, "model.layers.", {"model.norm"}, {}};
  if (family == "gpt") return {{}, "transformer.h.", {"transformer.ln_f"}, {}};
  if (family == "opt") return {{}, "model.decoder.layers.", {"model.decoder.final_layer_norm"}, {}};
  if (family == "gpt_neox") return {{}, "gpt_neox.layers.", {"gpt_neox.final_layer_norm"}, {}};
  if (family == "bert") return {{}, "encoder.layer.", {"pooler"}, {}};
  if (family == "vit") return {{}, "vit.layers.", {"vit.layernorm"}, {}};
  return {{}, handover.layers.row.layer_name, {"head"}, {}};
}

/// Where the stages after the first begin.
std::string split_points(const Handover& handover) {
  const ModuleNames names = torch_names(handover);
  const LayerPlan& layers = handover.layers;
  std::string out;
  for (std::size_t s = 1; s < layers.ends.size(); ++s) {
    const std::int32_t part = layers.begin(s);
    const std::string module =
        part == layers.row.head() ? std::string(names.head.front()) : names.layer + std::to_string(part - 1);
    out += fmt::format("    \"{}\": SplitPoint.BEGINNING,\n", module);
  }
  return out;
}

/// Usual values are left out.
std::string automodel_groups(const LayerPlan& layers) {
  std::string out;
  if (layers.context_parallel > 1) out += fmt::format("  cp_size: {}\n", layers.context_parallel);
  if (const std::int64_t copies = layers.data_parallel / data_shards(layers); copies > 1)
    out += fmt::format("  dp_replicate_size: {}\n", copies);
  return out;
}

/// Left out, AutoModel keeps a pipeline's weights whole after the forward, as ZeRO 2, and gathers others
/// again.
std::string automodel_resharding(const LayerPlan& layers) {
  if (layers.data_parallel * layers.context_parallel == 1) return "";
  return fmt::format("  reshard_after_forward: {}\n", layers.zero == 3);
}

/// Numbers of the passes and of gradients on their way. Left out, every plan would compute in bf16.
std::string automodel_precision(std::string_view precision) {
  return fmt::format(
      "  mp_policy:\n    _target_: torch.distributed.fsdp.MixedPrecisionPolicy\n    param_dtype: {}\n"
      "    reduce_dtype: {}\n    output_dtype: null\n    cast_forward_inputs: false\n",
      precision == "fp32" ? "float32" : "bfloat16", precision == "bf16" ? "bfloat16" : "float32");
}

}  // namespace

std::string to_automodel(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  const auto precision = precision_of(handover.graph, handover.plan);
  std::string out = fmt::format(
      "# Sections of a NeMo AutoModel recipe, for {} processes\n{}step_scheduler:\n  global_batch_size: {}\n"
      "  local_batch_size: {}\nmodel:\n  torch_dtype: {}\ndistributed:\n  strategy: fsdp2\n  dp_size: {}\n  "
      "tp_size: {}\n  pp_size: {}\n"
      "{}  sequence_parallel: {}\n  activation_checkpointing: {}\n{}{}",
      layers.devices(),
      comment_of_left_out("These come with model.config, as Hugging Face has it, and the data set",
                          model_values(handover.plan.model)),
      handover.plan.training.mini_batch, local_batch(handover), precision == "bf16" ? "bfloat16" : "float32",
      layers.data_parallel, layers.tensor_parallel, layers.ranks, automodel_groups(layers),
      layers.sequence_parallel, bool(layers.recompute), automodel_resharding(layers),
      automodel_precision(precision));
  if (layers.ends.size() == 1) return out;
  const bool named = handover.csv.empty();
  out += fmt::format(
      "  pipeline:\n    {}: {}\n    pp_microbatch_size: {}\n    module_fqns_per_model_part: [\n{}    ]\n",
      named ? "pp_schedule" : "pp_schedule_csv",
      named ? std::string(torch_schedule(handover.plan.schedule)) : handover.csv, layers.micro_batch,
      module_lists(layers, hf_llama_names(), "      "));
  return out;
}

std::string to_pytorch(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  std::string out = fmt::format(
      "# For torch.distributed.pipelining, on {} processes: stages are cut where these modules begin\n{}"
      "from torch.distributed.device_mesh import init_device_mesh\n"
      "from torch.distributed.pipelining import SplitPoint\n\n"
      "mesh = init_device_mesh(\"cuda\", ({}, {}, {}), mesh_dim_names=(\"pp\", \"dp\", \"tp\"))\n"
      "split_spec = {{\n{}}}\n",
      layers.devices(),
      comment_of_left_out("These come with the module that is split", model_values(handover.plan.model)),
      layers.ranks, layers.data_parallel, layers.tensor_parallel, split_points(handover));
  out += "ranks_of_stages = [";
  for (std::size_t s = 0; s < layers.rank_of_stage.size(); ++s)
    out += fmt::format("{}{}", s == 0 ? "" : ", ", layers.rank_of_stage[s]);
  out += fmt::format("]\nn_microbatches = {}  # of {} samples of a replica\n",
                     layers.micro_batches(handover.plan), layers.micro_batch);
  out +=
      handover.csv.empty()
          ? fmt::format("schedule = \"{}\"  # get_schedule_class\n", torch_schedule(handover.plan.schedule))
          : fmt::format("schedule_csv = \"{}\"  # _PipelineScheduleRuntime._load_csv\n", handover.csv);
  out += fmt::format(
      "sequence_parallel = {}\nzero = {}  # 0: DDP; 1: ZeroRedundancyOptimizer; 2, 3: fully_shard, "
      "reshard_after_forward={}\nrecompute = \"{}\"\n",
      layers.sequence_parallel ? "True" : "False", layers.zero, layers.zero == 3 ? "True" : "False",
      plan::written(layers.recompute));
  return out;
}

}  // namespace penstock::frameworks
