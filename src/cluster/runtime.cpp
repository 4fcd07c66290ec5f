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

NamedRuntime fusing(const char* name, const char* summary) {
  return {name, {.per_kernel = kEager}, summary, kFitted};
}
NamedRuntime unfused(const char* name, const char* summary) {
  return {name,
          {.per_kernel = kEager, .fused_gates = false, .fused_norms = false, .saves_gathered = true},
          summary,
          kFitted};
}

}  // namespace

const std::vector<NamedRuntime>& runtimes() {
  static const std::vector<NamedRuntime> all = {
      fusing("megatron", "Megatron-LM without CUDA graphs: Transformer Engine's or Apex's fused kernels"),
      fusing("deepspeed", "DeepSpeed with Megatron's fused kernels"),
      {"torchtitan",
       {.per_kernel = kEager, .fused_gates = false, .saves_gathered = true},
       "torchtitan without torch.compile: PyTorch's operators one by one, of which RMSNorm is one",
       kFitted},
      {"automodel",
       {.per_kernel = kEager, .saves_gathered = true},
       "NeMo AutoModel with Transformer Engine's kernels, as its benchmark recipes have them",
       kFitted},
      unfused("accelerate", "accelerate with models of transformers: PyTorch's operators one by one"),
      unfused("pytorch", "models written in PyTorch, without torch.compile: operators one by one"),
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
  return runtimes().front();
}

Runtime runtime(std::string_view text) {
  if (text.ends_with(kPerKernel)) return {.per_kernel = each(text, kPerKernel)};
  if (text.ends_with(kPerTask)) return {.per_task = each(text, kPerTask)};
  // torch.compile fuses element-wise kernels, and generated code launches the rest without PyTorch's
  // dispatcher. Its host time is not published: none is counted.
  const bool compiled = text.ends_with(kCompiled);
  const std::string_view name = compiled ? text.substr(0, text.size() - kCompiled.size()) : text;
  std::vector<std::string> known;
  for (const NamedRuntime& named : runtimes()) {
    if (named.name == name && (!compiled || named.runtime.per_kernel > Seconds(0)))
      return compiled ? Runtime{.saves_gathered = named.runtime.saves_gathered} : named.runtime;
    known.push_back(named.name);
  }
  throw core::BadInput(
      fmt::format("'{}' is no training framework, nor a time such as 5us/kernel or 50us/task; {}", text,
                  compiled ? fmt::format("{} goes behind frameworks of PyTorch", kCompiled)
                           : core::did_you_mean(std::string(text), known)));
}

}  // namespace penstock::cluster
