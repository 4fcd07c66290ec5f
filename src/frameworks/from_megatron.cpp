#include "penstock/frameworks/from_megatron.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "megatron_run.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/named_fault.hpp"
#include "penstock/core/spelling.hpp"
#include "penstock/plan/layer_row.hpp"
#include "penstock/schedule/interleaved_group.hpp"

namespace penstock::frameworks {
namespace {

using plan::Plan;

/// Arguments that make another computation, unless by their value they do nothing.
struct Foreign {
  const char* name;
  const char* none;  ///< value that does nothing; null: a switch
  const char* what;
};
constexpr Foreign kForeign[] = {
    {"hierarchical_context_parallel_sizes", "", "context parallelism in two ways at once"},
    {"moe_expert_capacity_factor", "", "experts that turn tokens away"},
    {"mtp_num_layers", "0", "multi-token prediction"},
    {"fp8_format", "", "8-bit numbers"},
    {"fp8", "", "8-bit numbers"},
    {"use_megatron_fsdp", nullptr, "Megatron-FSDP"},
    {"use_custom_fsdp", nullptr, "Megatron-FSDP"},
    {"use_torch_fsdp2", nullptr, "FSDP"},
    {"squared_relu", nullptr, "squared ReLU"},
    {"window_size", "", "windows of attention"},
    {"softmax_type", "vanilla", "attention with sinks"},
    {"quick_geglu", nullptr, "GEGLU"},
    {"qk_l2_norm", nullptr, "L2 norms of queries and keys"},
    {"attention_output_gate", nullptr, "gated attention outputs"},
    {"experimental_attention_variant", "", "another attention"},
    {"hybrid_layer_pattern", "", "layers of several kinds"},
    {"hybrid_override_pattern", "", "layers of several kinds"},
    {"is_hybrid_model", nullptr, "layers of several kinds"},
    {"heterogeneous_layers_config_path", "", "layers that differ"},
    {"heterogeneous_layers_config_encoded_json", "", "layers that differ"},
    {"moe_latent_size", "", "experts of a width of their own"},
    {"fp4_format", "", "4-bit numbers"},
    {"fp4", "", "4-bit numbers"},
    {"te_precision_config_file", "", "numbers by a file"},
    {"tensor_parallel_num_weight_shards", "1", "weights sharded otherwise than tensor parallelism"},
    {"expert_tensor_parallel_num_weight_shards", "1", "weights sharded otherwise than tensor parallelism"},
    {"hybrid_context_parallel", nullptr, "context groups of several sizes"},
    {"use_tp_pp_dp_mapping", nullptr, "ranks in another order"},
    {"grad_reduce_in_bf16", nullptr, "gradients reduced in bf16"},
    {"main_grads_dtype", "fp32", "gradients of other numbers"},
    {"main_params_dtype", "fp32", "master weights of other numbers"},
    {"exp_avg_dtype", "fp32", "moments of other numbers"},
    {"exp_avg_sq_dtype", "fp32", "moments of other numbers"},
    {"optimizer_cpu_offload", nullptr, "optimizer state in host memory"},
    {"cpu_offloading", nullptr, "activations in host memory"},
    {"cpu_offloading_num_layers", "0", "activations in host memory"},
    {"fine_grained_activation_offloading", nullptr, "activations in host memory"},
    {"moe_layer_recompute", nullptr, "recomputation of experts alone"},
    {"distribute_saved_activations", nullptr, "saved activations divided over tensor-parallel groups"},
    {"overlap_moe_expert_parallel_comm", nullptr, "a micro-batch more in flight, to hide experts' messages"},
};

void refuse_foreign(MegatronArguments& args) {
  for (const Foreign& each : kForeign) {
    const bool used =
        each.none ? !args.nothing(each.name) && args.text(each.name, "") != each.none : args.flag(each.name);
    if (used)
      args.fail(each.name,
                fmt::format("{}: no plan states this (--ignore {} reads the rest)", each.what, each.name));
  }
}

plan::Recomputation read_recomputation(MegatronArguments& args) {
  using enum plan::Recomputation::Of;
  const bool old = args.flag("recompute_activations") || args.flag("checkpoint_activations");
  const std::string of =
      args.word("recompute_granularity", {"none", "full", "selective"}, old ? "selective" : "none");
  if (of == "none") return {};
  if (of == "selective") {
    if (args.text("recompute_modules", "core_attn") != "core_attn")
      args.fail("recompute_modules", "expected core_attn: no plan computes other modules alone again");
    return plan::kRecomputeCore;
  }
  const bool block = args.word("recompute_method", {"uniform", "block"}, "uniform") == "block";
  const std::int64_t count = args.count("recompute_num_layers", 1);
  if (block) return {layers, false, count};
  if (count > 1)
    args.fail("recompute_num_layers", "expected 1: no plan computes several layers again together");
  return plan::kRecomputeLayers;
}

/// Megatron-Bridge's name for a set of numbers; "" for a mapping, whose leaves count.
std::string precision_recipe(MegatronArguments& args) {
  return args.word("mixed_precision", {"", "bf16_mixed", "bf16-mixed", "fp16_mixed", "fp16-mixed"}, "");
}

/// `replicas`: that sum gradients; `data`: that take samples of their own. Without a global batch size
/// Megatron-LM runs one micro-batch in each of these.
plan::Training read_training(MegatronArguments& args, std::int64_t replicas, std::int64_t data) {
  plan::Training out{args.count("global_batch_size", args.count("micro_batch_size") * data)};
  const std::string optimizer = args.word("optimizer", {"adam", "sgd"}, "adam");
  out.optimizer = optimizer == "adam"                       ? plan::Optimizer::adam
                  : args.text("sgd_momentum", "0.9") == "0" ? plan::Optimizer::sgd
                                                            : plan::Optimizer::momentum;
  const std::string recipe = precision_recipe(args);
  const bool bf16 = args.flag("bf16") || recipe.starts_with("bf16"),
             fp16 = args.flag("fp16") || recipe.starts_with("fp16");
  if (bf16 && fp16)
    args.fail(args.has("fp16") ? "fp16" : "mixed_precision", "bf16 and fp16: keep one of them");
  if (bf16 || fp16) out.precision = plan::mixed_precision(bf16 ? "mixed_bf16" : "mixed_fp16");
  if (bf16 && args.has("grad_reduce_in_fp32") && !args.flag("grad_reduce_in_fp32"))
    args.fail("grad_reduce_in_fp32",
              "gradients reduced in bf16: no plan states this (--ignore grad_reduce_in_fp32 "
              "reads the rest)");
  constexpr std::int64_t kBucket = 40'000'000, kPerReplica = 1'000'000;  // gradients
  const std::int64_t numbers = args.count("ddp_bucket_size", std::max(kBucket, kPerReplica * replicas));
  const std::int64_t bytes = fp16 && !args.flag("accumulate_allreduce_grads_in_fp32") ? 2 : 4;
  out.bucket = args.flag("overlap_grad_reduce")
                   ? core::Bytes(std::min(numbers, std::int64_t{1} << 50) * bytes)
                   : core::Bytes(0);
  return out;
}

/// Interleaving runs micro-batches in groups. Megatron-LM finds groups that do not suit when its first
/// iteration starts (forward_backward_pipelining_with_interleaving).
void check_groups(MegatronArguments& args, std::int64_t ranks, std::int64_t micro_batches) {
  constexpr const char* kName = "microbatch_group_size_per_virtual_pipeline_stage";
  constexpr const char* kBridge = "microbatch_group_size_per_vp_stage";
  const char* const name = args.has(kBridge) ? kBridge : kName;
  const std::int64_t group = args.count(name, ranks), tail = micro_batches % group;
  const char* const blamed = args.has(name) ? name : "global_batch_size";
  if (group < ranks || group > micro_batches)
    args.fail(blamed,
              fmt::format("Megatron-LM interleaves groups of {} to {} micro-batches (pipeline size to "
                          "micro-batches of a replica), not of {}",
                          ranks, micro_batches, group));
  if (tail > 0 && tail < ranks)
    args.fail(blamed,
              fmt::format("Megatron-LM does not interleave {} micro-batches in groups of {}: the last group "
                          "has {}, fewer than the {} pipeline ranks",
                          micro_batches, group, tail, ranks));
  const std::int64_t ours = schedule::interleaved_group(ranks, micro_batches);
  if (group != ours || micro_batches % ours != 0)
    args.fail(blamed,
              fmt::format("{} micro-batches in groups of {}: a plan states equal groups alone, here of {}",
                          micro_batches, group, ours));
}

/// Operators of the row's parts, dealt to the stages.
void deal(const graph::OpGraph& graph, const std::vector<StageLayers>& stages, Plan& plan) {
  const auto read = plan::layer_row(graph);
  const auto* row = std::get_if<plan::LayerRow>(&read);
  core::require(row != nullptr, "decoders of the zoo are rows of layers");
  std::int32_t end = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::int32_t begin = end;
    end += static_cast<std::int32_t>(stages[s].layers) + (stages[s].embedding ? 1 : 0) +
           (stages[s].loss ? 1 : 0);
    for (std::size_t v = 0; v < graph.size(); ++v)
      if (row->part_of[v] >= begin && row->part_of[v] < end) plan.stages[s].operators.emplace_back(v);
  }
}

struct Degrees {
  std::int64_t tensor, context, ranks, data, expert;
};

Degrees read_degrees(MegatronArguments& args, std::int64_t devices) {
  Degrees out{args.count("tensor_model_parallel_size", 1), args.count("context_parallel_size", 1),
              args.count("pipeline_model_parallel_size", 1), 1, args.count("expert_model_parallel_size", 1)};
  const bool few = out.tensor > devices || out.context > devices || out.ranks > devices;
  if (few || devices % (out.tensor * out.context * out.ranks) != 0)
    args.fail(out.context > 1 ? "context_parallel_size" : "pipeline_model_parallel_size",
              fmt::format("{} devices are not replicas of TP{}{} x PP{}", devices, out.tensor,
                          out.context > 1 ? fmt::format(" x CP{}", out.context) : "", out.ranks));
  out.data = devices / (out.tensor * out.context * out.ranks);
  if (out.data * out.context % out.expert != 0)
    args.fail("expert_model_parallel_size",
              fmt::format("{} replicas are not groups of {}", out.data * out.context, out.expert));
  if (args.count("expert_tensor_parallel_size", out.tensor) != out.tensor)
    args.fail("expert_tensor_parallel_size",
              fmt::format("expected {}, as operators beside experts: no plan states another", out.tensor));
  if (out.expert > 1 && !args.has("num_experts") && !args.has("num_moe_experts"))
    args.fail("expert_model_parallel_size", "expected 1, or num_experts: the model has no experts");
  return out;
}

plan::ContextExchange read_exchange(MegatronArguments& args) {
  const std::string way = args.word("cp_comm_type", {"p2p", "allgather", "all_gather", "a2a"}, "p2p");
  if (way == "a2a") return plan::ContextExchange::ulysses;
  return way == "p2p" ? plan::ContextExchange::ring : plan::ContextExchange::all_gather;
}

/// Instances of the distributed optimizer, each of as many devices with equal weights; 0: one of all.
std::int64_t read_zero_over(MegatronArguments& args, std::int64_t replicas) {
  const std::int64_t instances = args.count("num_distributed_optimizer_instances", 1);
  if (replicas % instances != 0)
    args.fail("num_distributed_optimizer_instances",
              fmt::format("{} devices with equal weights are not {} instances", replicas, instances));
  return instances == 1 ? 0 : replicas / instances;
}

/// Processes that torchrun starts, if the script states them as numbers; one node where it names none.
std::optional<std::int64_t> stated_processes(MegatronArguments& args) {
  if (!args.has("nproc_per_node")) return std::nullopt;
  std::int64_t out = 1;
  for (const char* name : {"nproc_per_node", "nnodes"}) {
    const std::string words = args.text(name, "1"),
                      text = words.substr(0, words.find(' '));  // then the program
    std::int64_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
    out *= number;
  }
  return out;
}

/// A run may be meant for another cluster, so this is no error.
std::string disagreement(MegatronArguments& args, std::int64_t devices) {
  const auto processes = stated_processes(args);
  if (!processes || *processes == devices) return "";
  return fmt::format("the script starts {} processes; the plan is for the cluster's {} devices", *processes,
                     devices);
}

/// Refuses an unread argument that differs by a letter or two from one that is read, as Megatron-LM's parser
/// does with any misspelt one. Of the arguments of 0.19, only vocab_file is so near another.
void refuse_misspelt(const MegatronArguments& args) {
  constexpr std::size_t kShort = 8;  // letters: shorter names of other arguments are near each other
  const std::vector<std::string> read = args.read();
  for (const std::string& name : args.unread())
    if (const std::string hint = core::did_you_mean(name, read);
        name.size() > kShort && name != "vocab_file" && hint.starts_with("did"))
      args.fail(name, fmt::format("Megatron-LM has no such argument; {} (--ignore reads the file without it)",
                                  hint));
}

}  // namespace

MegatronRun from_megatron(const std::string& text, const std::string& file, const plan::ClusterRef& cluster,
                          std::int64_t devices, const std::map<std::string, std::string>& given,
                          const std::vector<std::string>& ignored, bool flash) {
  MegatronArguments args = read_megatron_arguments(text, file);
  for (const std::string& name : ignored) args.ignore(name);
  refuse_foreign(args);
  const Degrees degrees = read_degrees(args, devices);
  Plan plan;
  plan.model = read_megatron_model(args, degrees.tensor, given, flash);
  plan.training = read_training(args, degrees.data * degrees.context, degrees.data);
  if (plan.training.precision) plan.model.parameters.emplace("element_bytes", "2");
  plan.cluster = cluster;
  plan.planner = "Megatron-LM";
  const graph::OpGraph graph =
      core::naming(file, [&] { return models::build(plan.model.name, plan.model.parameters); });
  const auto stages = read_megatron_stages(args, args.count("num_layers"), degrees.ranks);
  plan.stages.resize(stages.size());
  plan.schedule = static_cast<std::int64_t>(stages.size()) > degrees.ranks ? "interleaved_1f1b" : "1f1b";
  const std::int64_t micro_batches =
      plan.training.mini_batch / std::max<std::int64_t>(1, args.count("micro_batch_size") * degrees.data);
  if (static_cast<std::int64_t>(stages.size()) > degrees.ranks && degrees.ranks == 1)
    args.fail(
        "pipeline_model_parallel_size",
        fmt::format("Megatron-LM has several stages on a device only in a pipeline of 2 or more ranks; here "
                    "one rank has {}",
                    stages.size()));
  if (static_cast<std::int64_t>(stages.size()) > degrees.ranks)
    check_groups(args, degrees.ranks, micro_batches);
  deal(graph, stages, plan);
  const plan::Recomputation recompute = read_recomputation(args);
  const std::int64_t micro_batch = args.count("micro_batch_size"),
                     size = degrees.tensor * degrees.context * degrees.data;
  const plan::ContextExchange exchange = read_exchange(args);
  const std::int64_t over = read_zero_over(args, degrees.context * degrees.data);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    plan::Stage& stage = plan.stages[s];
    const auto rank = static_cast<std::int64_t>(s) % degrees.ranks;
    for (std::int64_t d = 0; d < size; ++d)
      stage.devices.emplace_back(static_cast<std::size_t>(rank * size + d));
    stage.micro_batch = micro_batch * degrees.data;
    stage.tensor_parallel = static_cast<int>(degrees.tensor);
    stage.expert_parallel = static_cast<int>(degrees.expert);
    stage.recompute = stages[s].layers > 0 || recompute.of == plan::Recomputation::Of::nothing
                          ? recompute
                          : plan::Recomputation{};
    stage.context_parallel = static_cast<int>(degrees.context);
    if (degrees.context > 1) stage.context_exchange = exchange;
    stage.zero = stage.weight_replicas() > 1 && args.flag("use_distributed_optimizer") ? 1 : 0;
    if (stage.zero > 0) stage.zero_over = over;
    stage.sequence_parallel = degrees.tensor > 1 && args.flag("sequence_parallel");
  }
  const std::string note = disagreement(args, devices);
  refuse_misspelt(args);
  return {std::move(plan), args.unread(), note};
}

}  // namespace penstock::frameworks
