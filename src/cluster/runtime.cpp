#include "penstock/cluster/runtime.hpp"

#include <fmt/format.h>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::cluster {
namespace {

using core::Seconds;

constexpr std::string_view kPerKernel = "/kernel", kPerTask = "/task";

/// Upper limit: no host takes longer.
constexpr Seconds kMost(1);

Seconds each(std::string_view text, std::string_view ending) {
  const std::string_view number = text.substr(0, text.size() - ending.size());
  const auto time = core::parse_seconds(number);
  if (!time || *time > kMost)
    throw core::BadInput(fmt::format("'{}': expected a time of at most 1s before {}", text, ending));
  return *time;
}

}  // namespace

const std::vector<NamedRuntime>& runtimes() {
  static const std::vector<NamedRuntime> all = {
      {"none", {}, "devices never wait for their hosts", "data sheets know no host"},
      {"cuda_graph",
       {},
       "kernels captured once and launched as one graph",
       "NVIDIA, CUDA C++ Programming Guide, CUDA Graphs: the host launches the graph, no kernel of it"},
      {"eager_pytorch",
       {.per_kernel = Seconds(44e-6)},
       "PyTorch's operators and those of Megatron-DeepSpeed one by one",
       "fitted on 55 measured runs on A100 nodes that predictions are not judged by "
       "(docs/published_runs.md)"},
      {"legion_flexflow",
       {.per_task = Seconds(50e-6)},
       "FlexFlow's tasks on Legion, one per operator and pass",
       "Slaughter et al., Task Bench, SC 2020: least granularity at half efficiency, 20 to 87 us"}};
  return all;
}

Runtime runtime(std::string_view text) {
  if (text.ends_with(kPerKernel)) return {.per_kernel = each(text, kPerKernel)};
  if (text.ends_with(kPerTask)) return {.per_task = each(text, kPerTask)};
  std::vector<std::string> known;
  for (const NamedRuntime& named : runtimes()) {
    if (named.name == text) return named.runtime;
    known.push_back(named.name);
  }
  throw core::BadInput(fmt::format("'{}' is no runtime, nor a time as 5us/kernel or 50us/task; {}", text,
                                   core::did_you_mean(std::string(text), known)));
}

}  // namespace penstock::cluster
