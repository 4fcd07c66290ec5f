#pragma once
// Training framework of a host: the time it needs to hand work to its device, which kernels it fuses, and the
// memory that it holds.

#include <string>
#include <string_view>
#include <vector>

#include "penstock/cluster/framework_memory.hpp"
#include "penstock/core/units.hpp"

namespace penstock::cluster {

struct FrameworkRuntime {
  /// Time from one launch to the next. The host runs ahead within an operator, so a pass lasts as long as the
  /// longer of its kernels and its launches.
  core::Seconds per_kernel{};
  /// Time from the end of a task (an operator's pass) to the start of the task that waits for it, in addition
  /// to transfer time.
  core::Seconds per_task{};
  /// False: gated activations run operator by operator (cost/unfused.hpp).
  bool fused_gates = true;
  /// False: norms by root mean square run operator by operator. PyTorch's own have one kernel on GPUs from 2.8
  /// on; those of transformers are written in operators.
  bool fused_norms = true;
  FrameworkMemory memory{};
  /// Returns the same kernels with another host time for each.
  FrameworkRuntime with_host(core::Seconds time_per_kernel) const {
    FrameworkRuntime out = *this;
    out.per_kernel = time_per_kernel;
    out.per_task = {};
    return out;
  }
  /// Host time of a pass with one kernel, such as a collective.
  core::Seconds one_kernel() const { return per_kernel + per_task; }
  friend bool operator==(const FrameworkRuntime&, const FrameworkRuntime&) = default;
};

struct NamedRuntime {
  std::string name;
  FrameworkRuntime runtime;
  std::string summary;
  std::string source;
};

/// Training frameworks megatron, deepspeed, torchtitan, automodel, accelerate and pytorch; then runtimes none,
/// cuda_graph, eager_pytorch and legion_flexflow.
const std::vector<NamedRuntime>& runtimes();

/// Framework that is assumed for GPUs whose kernel times are known without a host: megatron.
const NamedRuntime& usual_runtime();

/// Parses the name of a runtime, or a time per kernel or per task such as "5us/kernel" and "50us/task". With
/// "+compiled" behind a name, kernels are fused and hosts take no time (torch.compile). Throws BadInput.
FrameworkRuntime runtime(std::string_view text);

}  // namespace penstock::cluster
