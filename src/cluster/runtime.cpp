#include "penstock/cluster/runtime.hpp"

#include <fmt/format.h>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::cluster {
namespace {

using core::Seconds;

constexpr std::string_view kPerKernel = "/kernel", kPerTask = "/task", kCompiled = "+compiled";

/// Upper limit: no host takes longer.
constexpr Seconds kMost(1);

Seconds each(std::string_view text, std::string_view ending) {
  const std::string_view number = text.substr(0, text.size() - ending.size());
  const auto time = core::parse_seconds(number);
  if (!time || *time > kMost)
    throw core::BadInput(fmt::format("'{}': expected a time of at most 1s before {}", text, ending));
  return *time;
}

/// PyTorch's host, one operator after the other.
constexpr Seconds kEager(44e-6);
constexpr const char* kFitted =
    "44 us per kernel, fitted on 55 measured runs on A100 nodes that predictions are not judged by "
    "(docs/published_runs.md)";

/// Megatron-LM. An fp16 gradient is copied to fp32 (_copy_model_grads_to_main_grads in
/// megatron/core/optimizer/optimizer.py and distrib_optimizer.py; its dist_optimizer.md: 20 bytes per
/// parameter). Adam is Transformer Engine's or Apex's fused kernel.
constexpr FrameworkMemory kMegatron{.split = SplitBackward::operands,
                                    .copies_gradients = true,
                                    .owns_matrices = true,
                                    .buckets_first_chunk = true};
/// DeepSpeed (deepspeed/runtime/zero/stage_1_and_2.py and stage3.py, step): the shard of gradients is copied to
/// the precision of the master weights. A training script's torch.optim.AdamW makes lists; with FusedAdam, by
/// DeepSpeed's configuration, there are none. Buckets: reduce_bucket_size in runtime/zero/config.py.
constexpr FrameworkMemory kDeepSpeed{
    .copies_gradients = true, .makes_lists = true, .bucket_numbers = 500'000'000};
/// torch.optim.AdamW without an argument: foreach (torch/optim/adam.py, _multi_tensor_adam). torchtitan's
/// default is fused (torchtitan/components/optimizer.py).
constexpr FrameworkMemory kForeach{.makes_lists = true, .saves_gathered = true, .keeps_inputs = true};
/// Modules of transformers 5 under fully_shard, which neither accelerate nor a plain script gives a placement. NeMo
/// AutoModel and torchtitan have experts of their own and choose the dimension.
constexpr FrameworkMemory kTransformers{
    .makes_lists = true, .saves_gathered = true, .keeps_inputs = true, .shards_whole_experts = true};
/// Mixed precision of accelerate sets reduce_dtype. FSDP2 without one reduces in fp32 from torch 2.15 on, in bf16 before.
constexpr FrameworkMemory kAccelerate{.makes_lists = true,
                                      .saves_gathered = true,
                                      .keeps_inputs = true,
                                      .shards_whole_experts = true,
                                      .sends_as_weights = true};

NamedRuntime fusing(const char* name, const FrameworkMemory& memory, const char* summary) {
  return {name, {.per_kernel = kEager, .memory = memory}, summary, kFitted};
}
NamedRuntime unfused(const char* name, const FrameworkMemory& memory, const char* summary) {
  return {name,
          {.per_kernel = kEager, .fused_gates = false, .fused_norms = false, .memory = memory},
          summary,
          kFitted};
}

}  // namespace

const std::vector<NamedRuntime>& runtimes() {
  static const std::vector<NamedRuntime> all = {
      fusing("megatron", kMegatron,
             "Megatron-LM without CUDA graphs: Transformer Engine's or Apex's fused kernels"),
      fusing("deepspeed", kDeepSpeed, "DeepSpeed with Megatron's fused kernels"),
      {"torchtitan",
       {.per_kernel = kEager, .fused_gates = false, .memory = {.saves_gathered = true, .keeps_inputs = true}},
       "torchtitan without torch.compile: PyTorch's operators one by one, of which RMSNorm is one",
       kFitted},
      fusing("automodel", kForeach,
             "NeMo AutoModel with Transformer Engine's kernels, as its benchmark recipes have them"),
      unfused("accelerate", kAccelerate,
              "accelerate with models of transformers: PyTorch's operators one by one"),
      unfused("pytorch", kTransformers,
              "models written in PyTorch, without torch.compile: operators one by one"),
      {"none", {}, "devices never wait for their hosts", "data sheets know no host"},
      {"cuda_graph",
       {},
       "kernels captured once and launched as one graph",
       "NVIDIA, CUDA C++ Programming Guide, CUDA Graphs: the host launches the graph, no kernel of it"},
      {"eager_pytorch",
       {.per_kernel = kEager},
       "kernels launched one by one, and fused as in megatron",
       kFitted},
      {"legion_flexflow",
       {.per_task = Seconds(50e-6)},
       "FlexFlow's tasks on Legion, one per operator and pass",
       "Slaughter et al., Task Bench, SC 2020: least granularity at half efficiency, 20 to 87 us"}};
  return all;
}

const NamedRuntime& usual_runtime() {
  // Plans that name no framework may be none that Megatron-LM runs, so its rule of buckets holds for none of them.
  static const NamedRuntime assumed = [] {
    NamedRuntime out = runtimes().front();
    out.runtime.memory.buckets_first_chunk = false;
    return out;
  }();
  return assumed;
}

FrameworkRuntime runtime(std::string_view text) {
  if (text.ends_with(kPerKernel)) return {.per_kernel = each(text, kPerKernel)};
  if (text.ends_with(kPerTask)) return {.per_task = each(text, kPerTask)};
  // torch.compile fuses element-wise kernels, and generated code launches the rest without PyTorch's
  // dispatcher. Its host time is not published: none is counted.
  const bool compiled = text.ends_with(kCompiled);
  const std::string_view name = compiled ? text.substr(0, text.size() - kCompiled.size()) : text;
  std::vector<std::string> known;
  for (const NamedRuntime& named : runtimes()) {
    if (named.name == name && (!compiled || named.runtime.per_kernel > Seconds(0)))
      return compiled ? FrameworkRuntime{.memory = named.runtime.memory} : named.runtime;
    known.push_back(named.name);
  }
  throw core::BadInput(
      fmt::format("'{}' is no training framework, nor a time such as 5us/kernel or 50us/task; {}", text,
                  compiled ? fmt::format("{} goes behind frameworks of PyTorch", kCompiled)
                           : core::did_you_mean(std::string(text), known)));
}

}  // namespace penstock::cluster
