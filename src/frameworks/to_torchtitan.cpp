// torchtitan: a config function in Python since 0.3, sections of a TOML file before.

#include <fmt/format.h>

#include <algorithm>

#include "models/stated.hpp"
#include "writers.hpp"

namespace penstock::frameworks {
namespace {

using Values = std::map<std::string, std::string>;

/// torchtitan 0.3 ignores a module that its model does not have, and drops those that no stage names.
const ModuleNames& titan_names() {
  static const ModuleNames names{{"tok_embeddings"}, "layers.", {"norm", "lm_head"}, {}};
  return names;
}

const ModuleNames& older_names() {
  static const ModuleNames names{{"tok_embeddings"}, "layers.", {"norm", "output"}, {}};
  return names;
}

struct TitanDegrees {
  bool sharded = false;
  std::int64_t shards = 1, copies = 1;
};

TitanDegrees degrees_of(const LayerPlan& layers) {
  TitanDegrees out;
  out.sharded = layers.data_parallel * layers.context_parallel > 1 && layers.zero > 0;
  out.shards = out.sharded ? data_shards(layers) : 1;
  out.copies = layers.data_parallel / out.shards;
  return out;
}

std::string left_out(const plan::ModelRef& model, const std::string& what,
                     const std::vector<std::string>& written) {
  auto values = model_values(model);
  std::erase_if(values, [&](const std::string& value) {
    return std::ranges::count(written, value.substr(0, value.find(' '))) > 0;
  });
  return comment_of_left_out(what, values);
}

const char* python(bool value) {
  return value ? "True" : "False";
}

const char* dtype(std::string_view precision) {
  return precision == "fp32" ? "float32" : "bfloat16";
}

/// Fields of ComplexRoPE; "" for a scaling that it does not have.
std::string rope_scaling(const std::string& given) {
  const auto scaling = models::parse_rope_scaling(given);
  if (scaling.type == "none") return "scaling=\"none\"";
  if (scaling.type != "llama3") return "";
  constexpr double kFactor = 8, kHigh = 4, kOriginal = 8192;
  return fmt::format(
      "scaling=\"llama\", scaling_factor={}, low_freq_factor={}, high_freq_factor={}, "
      "original_max_position_embeddings={}",
      scaling.number("factor", kFactor), scaling.number("low_freq_factor", 1),
      scaling.number("high_freq_factor", kHigh),
      scaling.number("original_max_position_embeddings", kOriginal));
}

/// Values that the config function states, or that `demands` refuses.
std::vector<std::string> stated(Values& p) {
  std::vector<std::string> out = {"sequence", "hidden",   "heads",        "vocabulary", "tied_head",
                                  "layers",   "kv_heads", "feed_forward", "rope_base",  "head_width",
                                  "qkv_bias", "qk_norm",  "positions"};
  if (!rope_scaling(p["rope_scaling"]).empty()) out.emplace_back("rope_scaling");
  return out;
}

/// The model's own sizes, built as torchtitan's llama3 flavors are.
std::string model_function(Values& p) {
  const bool tied = p["tied_head"] == "yes";
  const std::string scaling = rope_scaling(p["rope_scaling"]);
  return fmt::format(
      "def model() -> Llama3Model.Config:\n"
      "    dim, n_heads, vocab_size = {hidden}, {heads}, {vocabulary}\n"
      "    return Llama3Model.Config(\n"
      "        dim=dim,\n"
      "        vocab_size=vocab_size,\n"
      "        enable_weight_tying={tied},\n"
      "        tok_embeddings=Embedding.Config(num_embeddings=vocab_size, embedding_dim=dim, "
      "param_init=llama3.{init}),\n"
      "        norm=RMSNorm.Config(normalized_shape=dim, param_init=llama3._NORM_INIT),\n"
      "        lm_head=Linear.Config(in_features=dim, out_features=vocab_size, "
      "param_init=llama3._output_linear_init(dim)),\n"
      "        layers=llama3._build_llama3_layers(\n"
      "            n_layers={layers}, dim=dim, n_heads=n_heads, n_kv_heads={kv_heads}, "
      "hidden_dim={feed_forward},\n"
      "            rope=ComplexRoPE.Config(dim=dim // n_heads, max_seq_len={sequence}, "
      "theta={rope_base}{scaling}),\n"
      "            attn_backend=\"flex\",\n"
      "        ),\n"
      "    )\n",
      fmt::arg("hidden", p["hidden"]), fmt::arg("heads", p["heads"]), fmt::arg("vocabulary", p["vocabulary"]),
      fmt::arg("tied", python(tied)), fmt::arg("init", tied ? "_EMBEDDING_SKIP_INIT" : "_EMBEDDING_INIT"),
      fmt::arg("layers", p["layers"]), fmt::arg("kv_heads", p["kv_heads"]),
      fmt::arg("feed_forward", p["feed_forward"]), fmt::arg("sequence", p["sequence"]),
      fmt::arg("rope_base", p["rope_base"]), fmt::arg("scaling", scaling.empty() ? "" : ", " + scaling));
}

/// Fields of ParallelismConfig, one a line.
std::string parallelism(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  const TitanDegrees degrees = degrees_of(layers);
  std::string out = fmt::format(
      "            data_parallel_replicate_degree={},\n            data_parallel_shard_degree={},\n"
      "            tensor_parallel_degree={},\n",
      degrees.copies, degrees.shards, layers.tensor_parallel);
  if (layers.context_parallel > 1)
    out += fmt::format("            context_parallel_degree={},\n", layers.context_parallel);
  if (layers.tensor_parallel > 1)
    out += fmt::format("            enable_sequence_parallel={},\n", python(layers.sequence_parallel));
  if (degrees.sharded)
    out += fmt::format("            fsdp_reshard_after_forward=\"{}\",\n",
                       layers.zero == 3 ? "always" : "never");
  out += fmt::format("            pipeline_parallel_degree={},\n", layers.ranks);
  if (layers.ends.size() == 1) return out;
  // The name decides where stages are, the file in which order they run.
  out += handover.csv.empty() ? fmt::format("            pipeline_parallel_schedule=\"{}\",\n",
                                            torch_schedule(handover.plan.schedule))
                              : fmt::format(
                                    "            pipeline_parallel_schedule=\"PipelineScheduleMulti\",\n"
                                    "            pipeline_parallel_schedule_csv=\"{}\",\n",
                                    handover.csv);
  return out + fmt::format(
                   "            pipeline_parallel_microbatch_size={},\n"
                   "            module_fqns_per_model_part=[\n{}            ],\n",
                   layers.micro_batch, module_lists(layers, titan_names(), "                "));
}

}  // namespace

std::string to_torchtitan(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  const auto precision = precision_of(handover.graph, handover.plan);
  auto p = all_parameters(handover.plan.model);
  return fmt::format(
      "# Config function for torchtitan 0.3, on {devices} processes. Saved as penstock_job.py:\n"
      "#   torchrun ... -m torchtitan.train --module penstock_job --config train\n"
      "# hf_assets_path and dataloader are yours to set, here or as options.\n"
      "{left_out}"
      "from torchtitan.components.loss import ChunkedLossWrapper, CrossEntropyLoss\n"
      "from torchtitan.components.optimizer import default_adamw\n"
      "from torchtitan.config import ParallelismConfig, TrainingConfig\n"
      "{full}"
      "from torchtitan.distributed.pipeline_parallel import pipeline_llm\n"
      "from torchtitan.hf_datasets.text_datasets import HuggingFaceTextDataLoader\n"
      "from torchtitan.models import llama3\n"
      "from torchtitan.models.common import ComplexRoPE, Embedding, Linear, RMSNorm\n"
      "from torchtitan.models.llama3 import Llama3Model, parallelize_llama\n"
      "from torchtitan.models.llama3.state_dict_adapter import Llama3StateDictAdapter\n"
      "from torchtitan.protocols.model_spec import ModelSpec\n"
      "from torchtitan.trainer import Trainer\n\n\n"
      "{model}\n\n"
      "def train() -> Trainer.Config:\n"
      "    return Trainer.Config(\n"
      "        model_spec=ModelSpec(\n"
      "            name=\"llama3\",\n"
      "            flavor=\"penstock\",\n"
      "            model=model(),\n"
      "            parallelize_fn=parallelize_llama,\n"
      "            pipelining_fn=pipeline_llm,\n"
      "            post_optimizer_build_fn=None,\n"
      "            state_dict_adapter=Llama3StateDictAdapter,\n"
      "        ),\n"
      "        "
      "loss=ChunkedLossWrapper.Config(loss_fn=CrossEntropyLoss.Config(global_vocab_size={vocabulary})),\n"
      "        optimizer=default_adamw(lr=3e-4),\n"
      "        dataloader=HuggingFaceTextDataLoader.Config(dataset=\"c4\"),\n"
      "        training=TrainingConfig(\n"
      "            local_batch_size={local},\n"
      "            global_batch_size={global_batch},\n"
      "            seq_len={sequence},\n"
      "            dtype=\"{held}\",\n"
      "            mixed_precision_param=\"{computed}\",\n"
      "            mixed_precision_reduce=\"float32\",\n"
      "            disable_cuda_graphs=True,\n"
      "        ),\n"
      "        parallelism=ParallelismConfig(\n{parallelism}        ),\n"
      "        activation_checkpoint={again},\n"
      "    )\n",
      fmt::arg("devices", layers.devices()),
      fmt::arg("left_out",
               left_out(handover.plan.model, "The function leaves these to torchtitan's llama3", stated(p))),
      fmt::arg("full",
               layers.recompute ? "from torchtitan.distributed.activation_checkpoint import FullAC\n" : ""),
      fmt::arg("model", model_function(p)), fmt::arg("vocabulary", p["vocabulary"]),
      fmt::arg("local", local_batch(handover)), fmt::arg("global_batch", handover.plan.training.mini_batch),
      fmt::arg("sequence", p["sequence"]), fmt::arg("held", precision == "bf16" ? "bfloat16" : "float32"),
      fmt::arg("computed", dtype(precision)), fmt::arg("parallelism", parallelism(handover)),
      fmt::arg("again", layers.recompute ? "FullAC.Config()" : "None"));
}

std::string to_torchtitan_toml(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  const auto precision = precision_of(handover.graph, handover.plan);
  const TitanDegrees degrees = degrees_of(layers);
  std::string out = fmt::format(
      "# Sections of a torchtitan job config (before 0.3), for {} processes\n{}[training]\nlocal_batch_size "
      "= "
      "{}\nglobal_batch_size = {}\n",
      layers.devices(),
      left_out(handover.plan.model, "A job config has no option for these, which come with model.flavor",
               {"sequence"}),
      local_batch(handover), handover.plan.training.mini_batch);
  auto p = all_parameters(handover.plan.model);
  out += fmt::format(
      "seq_len = {}\ndtype = \"{}\"\nmixed_precision_param = \"{}\"\nmixed_precision_reduce = \"{}\"\n",
      p["sequence"], precision == "bf16" ? "bfloat16" : "float32", dtype(precision), "float32");
  out += fmt::format(
      "\n[parallelism]\ndata_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n"
      "tensor_parallel_degree = {}\n",
      degrees.copies, degrees.shards, layers.tensor_parallel);
  if (layers.context_parallel > 1)
    out += fmt::format("context_parallel_degree = {}\ncontext_parallel_rotate_method = \"{}\"\n",
                       layers.context_parallel,
                       layers.context_exchange == plan::ContextExchange::ring ? "alltoall" : "allgather");

  if (layers.tensor_parallel > 1)
    out += fmt::format("enable_sequence_parallel = {}\n", layers.sequence_parallel);
  if (degrees.sharded)
    out += fmt::format("fsdp_reshard_after_forward = \"{}\"\n", layers.zero == 3 ? "always" : "never");
  out += fmt::format("pipeline_parallel_degree = {}\n", layers.ranks);
  if (layers.ends.size() > 1) {
    out += handover.csv.empty()
               ? fmt::format("pipeline_parallel_schedule = \"{}\"\n", torch_schedule(handover.plan.schedule))
               : fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_schedule_csv = \"{}\"\n",
                             layers.chunks > 1 ? "PipelineScheduleMulti" : "PipelineScheduleSingle",
                             handover.csv);
    out += fmt::format("pipeline_parallel_microbatch_size = {}\nmodule_fqns_per_model_part = [\n{}]\n",
                       layers.micro_batch, module_lists(layers, older_names(), "    "));
  }
  out += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", layers.recompute ? "full" : "none");
  return out;
}

}  // namespace penstock::frameworks
