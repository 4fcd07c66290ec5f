// The config file of accelerate, as Hugging Face's Trainer takes it.

#include <fmt/format.h>

#include "writers.hpp"

namespace penstock::frameworks {
namespace {

const char* yes_or_no(bool yes) {
  return yes ? "true" : "false";
}

/// Settings of FSDP2; replicas with whole copies have none.
std::string fsdp_config(const LayerPlan& layers) {
  return fmt::format(
      "fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
      "  fsdp_reshard_after_forward: {}\n  fsdp_activation_checkpointing: {}\n",
      yes_or_no(layers.zero == 3), yes_or_no(bool(layers.recompute)));
}

/// Degrees, whose product is the number of processes. The launcher takes them with FSDP2 only.
std::string parallelism_config(const LayerPlan& layers) {
  const std::int64_t shards = data_shards(layers);
  std::string out = fmt::format(
      "parallelism_config:\n  parallelism_config_dp_replicate_size: {}\n"
      "  parallelism_config_dp_shard_size: {}\n  parallelism_config_tp_size: {}\n  "
      "parallelism_config_cp_size: {}\n",
      layers.data_parallel / shards, shards, layers.tensor_parallel, layers.context_parallel);
  if (layers.context_parallel > 1)
    out += fmt::format("  parallelism_config_cp_comm_strategy: {}\n",
                       layers.context_exchange == plan::ContextExchange::ring ? "alltoall" : "allgather");
  return out;
}

/// Batches and what replicas with whole copies recompute are arguments of the Trainer.
std::string trainer_arguments(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  std::string out =
      fmt::format("# TrainingArguments: per_device_train_batch_size={}, gradient_accumulation_steps={}",
                  layers.micro_batch, layers.micro_batches(handover.plan));
  if (layers.zero == 0 && layers.recompute) out += ", gradient_checkpointing=True";
  return out + "\n";
}

}  // namespace

std::string to_accelerate(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  const bool sharded = layers.zero > 0;
  return fmt::format(
      "# Config file of accelerate launch, for {} processes\n# To add: num_machines, machine_rank, "
      "main_process_ip, main_process_port\n{}{}compute_environment: LOCAL_MACHINE\ndistributed_type: {}\n"
      "mixed_precision: '{}'\nnum_processes: {}\n{}{}",
      layers.devices(), trainer_arguments(handover),
      comment_of_left_out("These come with the model", model_values(handover.plan.model)),
      sharded ? "FSDP" : "MULTI_GPU",
      precision_of(handover.graph, handover.plan) == "mixed_bf16" ? "bf16" : "no", layers.devices(),
      sharded ? fsdp_config(layers) : "", sharded ? parallelism_config(layers) : "");
}

}  // namespace penstock::frameworks
