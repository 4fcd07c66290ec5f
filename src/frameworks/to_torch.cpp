// Frameworks on torch.distributed.pipelining: torchtitan, NeMo AutoModel, and PyTorch itself.

#include <fmt/format.h>

#include "writers.hpp"

namespace penstock::frameworks {
namespace {

std::int64_t samples_per_replica(const Handover& handover) {
  return handover.plan.training.mini_batch / handover.layers.data_parallel;
}

const char* dtype(std::string_view precision) {
  return precision == "fp32" ? "float32" : "bfloat16";
}

const ModuleNames& titan_names() {
  static const ModuleNames names{{"tok_embeddings"}, "layers.", {"norm", "output"}, {}};
  return names;
}

const ModuleNames& hf_llama_names() {
  static const ModuleNames names{
      {"model.embed_tokens"}, "model.layers.", {"model.norm", "lm_head"}, {"model.rotary_emb"}};
  return names;
}

/// Of transformers' classes; another model's layers are called as the zoo calls them.
ModuleNames torch_names(const Handover& handover) {
  const std::string& family = handover.plan.model.name;
  if (family == "llama") return {{}, "model.layers.", {"model.norm"}, {}};
  if (family == "gpt") return {{}, "transformer.h.", {"transformer.ln_f"}, {}};
  if (family == "opt") return {{}, "model.decoder.layers.", {"model.decoder.final_layer_norm"}, {}};
  if (family == "gpt_neox") return {{}, "gpt_neox.layers.", {"gpt_neox.final_layer_norm"}, {}};
  if (family == "bert") return {{}, "encoder.layer.", {"pooler"}, {}};
  if (family == "vit") return {{}, "vit.encoder.layer.", {"vit.layernorm"}, {}};
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

/// Replicas that shard, of the devices with equal weights that do.
std::int64_t data_shards(const LayerPlan& layers) {
  return layers.zero_over == 0 ? layers.data_parallel : layers.zero_over / layers.context_parallel;
}

/// What is usual is left out.
std::string automodel_groups(const LayerPlan& layers) {
  std::string out;
  if (layers.context_parallel > 1) out += fmt::format("  cp_size: {}\n", layers.context_parallel);
  if (const std::int64_t copies = layers.data_parallel / data_shards(layers); copies > 1)
    out += fmt::format("  dp_replicate_size: {}\n", copies);
  return out;
}

/// Its job config names a flavor of the model, whose values stand in its program.
std::string torchtitan_left_out(const plan::ModelRef& model) {
  auto values = model_values(model);
  std::erase_if(values, [](const std::string& value) { return value.starts_with("sequence "); });
  return comment_of_left_out("A job config has no option for these, which come with model.flavor", values);
}

}  // namespace

std::string to_torchtitan(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  const auto precision = precision_of(handover.graph, handover.plan);
  const bool sharded = layers.data_parallel * layers.context_parallel > 1 && layers.zero > 0;
  const std::int64_t shards = sharded ? data_shards(layers) : 1;
  std::string out = fmt::format(
      "# Sections of a torchtitan job config, for {} processes\n{}[training]\nlocal_batch_size = "
      "{}\nglobal_batch_size = {}\n",
      layers.devices(), torchtitan_left_out(handover.plan.model), samples_per_replica(handover),
      handover.plan.training.mini_batch);
  auto p = all_parameters(handover.plan.model);
  out += fmt::format(
      "seq_len = {}\ndtype = \"{}\"\nmixed_precision_param = \"{}\"\nmixed_precision_reduce = \"{}\"\n",
      p["sequence"], precision == "bf16" ? "bfloat16" : "float32", dtype(precision), "float32");
  out += fmt::format(
      "\n[parallelism]\ndata_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n"
      "tensor_parallel_degree = {}\n",
      layers.data_parallel / shards, shards, layers.tensor_parallel);
  if (layers.context_parallel > 1)
    out += fmt::format("context_parallel_degree = {}\ncontext_parallel_rotate_method = \"{}\"\n",
                       layers.context_parallel,
                       layers.context_exchange == plan::ContextExchange::ring ? "alltoall" : "allgather");

  if (layers.tensor_parallel > 1)
    out += fmt::format("enable_sequence_parallel = {}\n", layers.sequence_parallel);
  if (sharded)
    out += fmt::format("fsdp_reshard_after_forward = \"{}\"\n", layers.zero == 3 ? "always" : "never");
  out += fmt::format("pipeline_parallel_degree = {}\n", layers.ranks);
  if (layers.ends.size() > 1) {
    out += handover.csv.empty()
               ? fmt::format("pipeline_parallel_schedule = \"{}\"\n", torch_schedule(handover.plan.schedule))
               : fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_schedule_csv = \"{}\"\n",
                             layers.chunks > 1 ? "PipelineScheduleMulti" : "PipelineScheduleSingle",
                             handover.csv);
    out += fmt::format("pipeline_parallel_microbatch_size = {}\nmodule_fqns_per_model_part = [\n{}]\n",
                       layers.micro_batch, module_lists(layers, titan_names(), "    "));
  }
  out += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", layers.recompute ? "full" : "none");
  return out;
}

std::string to_automodel(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  std::string out = fmt::format(
      "# Sections of a NeMo AutoModel recipe, for {} processes\n{}step_scheduler:\n  global_batch_size: {}\n"
      "  local_batch_size: {}\ndistributed:\n  strategy: fsdp2\n  dp_size: {}\n  tp_size: {}\n  pp_size: {}\n"
      "{}  sequence_parallel: {}\n  activation_checkpointing: {}\n",
      layers.devices(),
      comment_of_left_out("These come with model.config, as Hugging Face has it, and the data set",
                          model_values(handover.plan.model)),
      handover.plan.training.mini_batch, samples_per_replica(handover), layers.data_parallel,
      layers.tensor_parallel, layers.ranks, automodel_groups(layers), layers.sequence_parallel,
      bool(layers.recompute));
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
                     samples_per_replica(handover) / layers.micro_batch, layers.micro_batch);
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
