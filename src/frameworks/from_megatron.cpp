#include "penstock/frameworks/from_megatron.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <utility>

#include "megatron_parts.hpp"
#include "megatron_recipes.hpp"
#include "megatron_run.hpp"
#include "megatron_words.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/named_fault.hpp"
#include "penstock/plan/layer_row.hpp"
#include "penstock/schedule/interleaved_group.hpp"

namespace penstock::frameworks {
namespace {

using plan::Plan;

/// The granularity that older spellings mean: --checkpoint-activations checkpoints every layer,
/// --recompute-activations the core of attention. Names the argument as well; "" if none is given.
std::pair<std::string, const char*> old_granularity(MegatronArguments& args) {
  const bool old = args.flag("recompute_activations");
  const char* const full =
      args.spelling({"checkpoint_activations", "activations_checkpoint_method"});  // until 2022
  const bool all = args.flag("checkpoint_activations") || args.has("activations_checkpoint_method");
  if (all && old)
    args.fail(full, "all layers are checkpointed, and --recompute-activations asks for selective: keep one");
  return {all ? "full" : old ? "selective" : "none", all ? full : ""};
}

plan::Recomputation read_recomputation(MegatronArguments& args) {
  using enum plan::Recomputation::SegmentScope;
  const auto [usual, old] = old_granularity(args);
  const std::string of = args.word("recompute_granularity", {"none", "full", "selective"}, usual);
  if (usual == "full" && of != "full")
    args.fail("recompute_granularity",
              fmt::format("is {}, and {} checkpoints all layers: keep one of them", of, old));
  if (of == "none") return {};
  if (of == "selective") {
    if (args.text("recompute_modules", "core_attn") != "core_attn")
      args.fail("recompute_modules", "expected core_attn: no plan computes other modules alone again");
    return plan::kRecomputeCore;
  }
  const char* const method = args.spelling({"recompute_method", "activations_checkpoint_method"});
  const bool block = args.word(method, {"uniform", "block"}, "uniform") == "block";
  const char* const number =
      args.spelling({"recompute_num_layers", "activations_checkpoint_num_layers", "checkpoint_num_layers"});
  const std::int64_t count = args.count(number, 1);
  if (block) return {layers, false, count};
  if (count > 1) args.fail(number, "expected 1: no plan computes several layers again together");
  return plan::kRecomputeLayers;
}

/// Megatron-Bridge's name for a set of numbers; "" for a mapping, whose leaves count.
std::string precision_recipe(MegatronArguments& args) {
  return args.word("mixed_precision", {"", "bf16_mixed", "bf16-mixed", "fp16_mixed", "fp16-mixed"}, "");
}

/// Format in which layers multiply. Megatron-LM needs --bf16 beside it.
graph::ProductFormat read_products(MegatronArguments& args, bool half) {
  using graph::ProductFormat;
  const char* const fp8 = args.spelling({"fp8_format", "fp8"});
  const char* const fp4 = args.spelling({"fp4_format", "fp4"});
  const bool eight = !args.nothing(fp8) && !args.word(fp8, {"", "hybrid", "e4m3"}, "").empty(),
             four = !args.nothing(fp4) && !args.word(fp4, {"", "e2m1"}, "").empty();
  const ProductFormat by_block = megatron_products(
      args.word("fp8_recipe", megatron_recipes(), std::string(megatron_recipe(ProductFormat::fp8_delayed))));
  args.word("fp4_recipe", {"nvfp4"}, "nvfp4");
  if (eight && four) args.fail(fp4, fmt::format("4 bits, and {} says 8: keep one of them", fp8));
  if ((eight || four) && !half)
    args.fail(eight ? fp8 : fp4, "Megatron-LM multiplies in few bits only where it trains in --bf16");
  return four ? ProductFormat::nvfp4 : eight ? by_block : ProductFormat::stored;
}

/// `replicas`: that sum gradients; `data`: that take samples of their own. Without a global batch size
/// Megatron-LM runs one micro-batch in each of these.
plan::Training read_training(MegatronArguments& args, std::int64_t replicas, std::int64_t data) {
  if (args.has("step_batch_size_schedule") && !args.has("global_batch_size"))
    args.fail("step_batch_size_schedule",
              "the batch grows as training goes on: add the one to plan for (--global-batch-size N)");
  plan::Training out{args.count("global_batch_size", args.count("micro_batch_size") * data)};
  // megatron-core 0.19.2; dist_muon is its older name for muon with the distributed optimizer.
  const std::string optimizer = args.word("optimizer", {"adam", "sgd", "lion", "muon", "dist_muon"}, "adam");
  out.optimizer = optimizer == "adam"                       ? plan::Optimizer::adam
                  : optimizer == "lion"                     ? plan::Optimizer::lion
                  : optimizer.ends_with("muon")             ? plan::Optimizer::muon
                  : args.text("sgd_momentum", "0.9") == "0" ? plan::Optimizer::sgd
                                                            : plan::Optimizer::momentum;
  const std::string recipe = precision_recipe(args);
  const bool bf16 = args.flag("bf16") || recipe.starts_with("bf16"),
             fp16 = args.flag("fp16") || recipe.starts_with("fp16");
  if (bf16 && fp16)
    args.fail(args.has("fp16") ? "fp16" : "mixed_precision", "bf16 and fp16: keep one of them");
  if (args.flag("no_use_layer_wise_param_layout") && out.optimizer == plan::Optimizer::muon)
    args.fail("no_use_layer_wise_param_layout",
              "changes the buffers of muon, which are known only in their layer-wise layout");
  if (fp16 && out.optimizer == plan::Optimizer::muon)
    args.fail("optimizer", "Megatron-LM does not run muon in fp16: train in --bf16, or by adam");
  if (bf16 || fp16) out.precision = plan::mixed_precision(bf16 ? "mixed_bf16" : "mixed_fp16");
  const graph::ProductFormat products = read_products(args, bf16);
  if (out.precision) out.precision->products = products;
  const bool whole = args.flag("accumulate_allreduce_grads_in_fp32");
  if (fp16 && whole) out.precision->gradients = cluster::Precision::fp32;
  if (bf16 && args.has("grad_reduce_in_fp32") && !args.flag("grad_reduce_in_fp32"))
    args.fail("grad_reduce_in_fp32",
              "gradients reduced in bf16: no plan states this (--ignore grad_reduce_in_fp32 "
              "reads the rest)");
  constexpr std::int64_t kBucket = 40'000'000, kPerReplica = 1'000'000;  // gradients
  const std::int64_t numbers = args.count("ddp_bucket_size", std::max(kBucket, kPerReplica * replicas));
  const std::int64_t bytes = fp16 && !whole ? 2 : 4;
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

/// Operators of the row's parts, dealt to the stages; one stage has all, also of a model that is no row.
void deal(const graph::OpGraph& graph, const std::vector<StageLayers>& stages, Plan& plan) {
  if (stages.size() == 1) {
    for (std::size_t v = 0; v < graph.size(); ++v) plan.stages.front().operators.emplace_back(v);
    return;
  }
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
  bool whole_experts = false;
};

bool is_mixture(MegatronArguments& args) {
  return args.has("num_experts") || args.has("num_moe_experts");
}

/// True if tensor parallelism divides no expert.
bool has_whole_experts(MegatronArguments& args, std::int64_t tensor) {
  constexpr const char* kSize = "expert_tensor_parallel_size";
  const std::int64_t size = args.count(kSize, tensor);
  if (size == tensor || !is_mixture(args)) return false;
  if (size != 1)
    args.fail(kSize,
              fmt::format("expected 1, or {} as operators beside experts: no plan states another", tensor));
  if (!args.flag("sequence_parallel"))
    args.fail(kSize, "expected --sequence-parallel beside it: Megatron-LM divides no experts without");
  return true;
}

Degrees read_degrees(MegatronArguments& args, std::int64_t devices) {
  Degrees out{args.count(args.spelling({"tensor_model_parallel_size", "model_parallel_size"}), 1),
              args.count("context_parallel_size", 1), args.count("pipeline_model_parallel_size", 1), 1,
              args.count("expert_model_parallel_size", 1)};
  const bool few = out.tensor > devices || out.context > devices || out.ranks > devices;
  if (few || devices % (out.tensor * out.context * out.ranks) != 0)
    args.fail(out.context > 1 ? "context_parallel_size" : "pipeline_model_parallel_size",
              fmt::format("{} devices are not replicas of TP{}{} x PP{}", devices, out.tensor,
                          out.context > 1 ? fmt::format(" x CP{}", out.context) : "", out.ranks));
  out.data = devices / (out.tensor * out.context * out.ranks);
  out.whole_experts = has_whole_experts(args, out.tensor);
  const std::int64_t places = out.data * out.context * (out.whole_experts ? out.tensor : 1);
  if (places % out.expert != 0)
    args.fail("expert_model_parallel_size",
              fmt::format("{} {} are not groups of {}", places,
                          out.whole_experts ? "devices with whole experts" : "replicas", out.expert));
  if (out.expert > 1 && !is_mixture(args))
    args.fail("expert_model_parallel_size", "expected 1, or num_experts: the model has no experts");
  return out;
}

plan::ContextExchange read_exchange(MegatronArguments& args) {
  const std::string way = args.word("cp_comm_type", {"p2p", "allgather", "all_gather", "a2a"}, "p2p");
  if (way == "a2a") return plan::ContextExchange::ulysses;
  return way == "p2p" ? plan::ContextExchange::ring : plan::ContextExchange::all_gather;
}

/// By --use-distributed-optimizer, or DeepSpeed's --zero-stage.
bool shards_optimizer(MegatronArguments& args) {
  const bool distributed = args.flag("use_distributed_optimizer");
  if (args.has("deepspeed_config") && !args.has("zero_stage"))
    args.fail("deepspeed_config",
              "the ZeRO stage is in that file, which is not read: add --zero-stage 0 or 1 to the script");
  const std::string stage = args.text("zero_stage", "0");
  if (stage != "0" && stage != "1")
    args.fail(
        "zero_stage",
        fmt::format(
            "expected 0 or 1, found '{}': gradients and weights are not sharded beside Megatron-LM's pipelines",
            stage));
  return distributed || stage == "1";
}

/// Instances of the distributed optimizer, each of as many devices with equal weights; 0: one of all.
std::int64_t read_zero_over(MegatronArguments& args, std::int64_t replicas) {
  const std::int64_t instances = args.count("num_distributed_optimizer_instances", 1);
  if (replicas % instances != 0)
    args.fail("num_distributed_optimizer_instances",
              fmt::format("{} devices with equal weights are not {} instances", replicas, instances));
  return instances == 1 ? 0 : replicas / instances;
}

/// Processes that torchrun or deepspeed starts, if the script states them as numbers; one node where it names
/// none.
std::optional<std::int64_t> stated_processes(MegatronArguments& args, const char* of_node,
                                             const char* nodes) {
  if (!args.has(of_node)) return std::nullopt;
  std::int64_t out = 1;
  for (const char* name : {of_node, nodes}) {
    const std::string words = args.text(name, "1"),
                      text = words.substr(0, words.find(' '));  // then the program
    std::int64_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
    out *= number;
  }
  return out;
}

/// Refuses a script that starts another number of processes than the cluster has devices.
void check_processes(MegatronArguments& args, std::int64_t devices) {
  const char* const of_node = args.spelling({"nproc_per_node", "num_gpus"});
  const char* const nodes = args.spelling({"nnodes", "num_nodes"});
  const auto processes = stated_processes(args, of_node, nodes);
  if (processes && *processes != devices)
    args.fail(
        of_node,
        fmt::format("the script starts {} processes, and the plan is for {} devices: give a cluster of {} "
                    "(--gpus, --devices), or --ignore {}",
                    *processes, devices, *processes, of_node));
}

/// A step takes whole micro-batches on every replica. Returns the micro-batch of one.
std::int64_t read_micro_batch(MegatronArguments& args, std::int64_t batch, std::int64_t replicas) {
  const std::int64_t micro_batch = args.count("micro_batch_size"), step = micro_batch * replicas;
  if (batch % step == 0) return micro_batch;
  const std::int64_t below = batch / step * step;
  args.fail("global_batch_size",
            fmt::format(
                "{} is no multiple of micro_batch_size {} x data-parallel size {}: the nearest {}", batch,
                micro_batch, replicas,
                below > 0 ? fmt::format("are {} and {}", below, below + step) : fmt::format("is {}", step)));
}

/// Keeps operators whole that tensor parallelism would divide.
void keep_whole(const graph::OpGraph& graph, const std::vector<std::string>& names, plan::Stage& stage) {
  if (stage.tensor_parallel == 1) return;
  for (const core::OpId id : stage.operators)
    if (std::ranges::count(names, graph.op(id).name) > 0) stage.partition[id] = plan::Partition::whole;
}

/// A llama, a mixtral and a deepseek_v3 of the zoo have no dropout, which Megatron-LM has by default.
std::vector<std::string> left_out(MegatronArguments& args, const plan::ModelRef& model) {
  if (models::has_parameter(model.name, "dropout") || !args.of_command_line() || !has_dropout(args))
    return {};
  return {fmt::format(
      "the run has Megatron-LM's default dropout of 0.1, which the zoo's {} lacks: time and memory of its masks "
      "are not counted. Llamas are usually trained without: --attention-dropout 0 --hidden-dropout 0",
      model.name)};
}

}  // namespace

MegatronRun from_megatron(const std::string& text, const std::string& file, const plan::ClusterRef& cluster,
                          std::int64_t devices, const std::map<std::string, std::string>& given,
                          const std::vector<std::string>& ignored, bool flash,
                          const std::string& script_arguments) {
  MegatronArguments args = read_megatron_arguments(text, file, script_arguments);
  for (const std::string& name : ignored) args.ignore(name);
  refuse_foreign(args);
  check_processes(args, devices);
  const Degrees degrees = read_degrees(args, devices);
  Plan plan;
  plan.model = read_megatron_model(args, degrees.tensor, given, flash);
  if (plan.model.name == "decoder")  // whose parameters are too many to be a name
    plan.model.label = "decoder of " + std::filesystem::path(file).filename().string();
  plan.training = read_training(args, degrees.data * degrees.context, degrees.data);
  if (plan.training.precision) plan.model.parameters.emplace("element_bytes", "2");
  if (plan.training.precision && plan.training.precision->products != graph::ProductFormat::stored)
    plan.model.parameters.emplace("products", graph::name(plan.training.precision->products));
  plan.cluster = cluster;
  plan.planner = "Megatron-LM";
  const graph::OpGraph graph =
      core::naming(file, [&] { return models::build(plan.model.name, plan.model.parameters); });
  const auto stages = read_megatron_stages(args, layer_count(args), degrees.ranks);
  plan.stages.resize(stages.size());
  plan.schedule = static_cast<std::int64_t>(stages.size()) > degrees.ranks ? "interleaved_1f1b" : "1f1b";
  const std::int64_t micro_batch = read_micro_batch(args, plan.training.mini_batch, degrees.data),
                     micro_batches = plan.training.mini_batch / (micro_batch * degrees.data);
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
  const std::int64_t size = degrees.tensor * degrees.context * degrees.data;
  const plan::ContextExchange exchange = read_exchange(args);
  const std::int64_t over = read_zero_over(args, degrees.context * degrees.data);
  const bool sharded = shards_optimizer(args);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    plan::Stage& stage = plan.stages[s];
    const auto rank = static_cast<std::int64_t>(s) % degrees.ranks;
    for (std::int64_t d = 0; d < size; ++d)
      stage.devices.emplace_back(static_cast<std::size_t>(rank * size + d));
    stage.micro_batch = micro_batch * degrees.data;
    stage.tensor_parallel = static_cast<int>(degrees.tensor);
    stage.expert_parallel = static_cast<int>(degrees.expert);
    stage.whole_experts = degrees.whole_experts;
    stage.recompute = stages[s].layers > 0 || recompute.of == plan::Recomputation::SegmentScope::nothing
                          ? recompute
                          : plan::Recomputation{};
    stage.context_parallel = static_cast<int>(degrees.context);
    if (degrees.context > 1) stage.context_exchange = exchange;
    stage.zero = stage.has_copies() && sharded ? 1 : 0;
    if (stage.zero > 0) stage.zero_over = over;
    stage.sequence_parallel = degrees.tensor > 1 && args.flag("sequence_parallel");
    keep_whole(graph, whole_operators(plan.model.name), stage);
  }
  std::vector<std::string> notes = left_out(args, plan.model);
  refuse_unknown(args);
  return {std::move(plan), args.unread(), std::move(notes)};
}

}  // namespace penstock::frameworks
