#pragma once
// What a framework's host takes to hand work to its device.

#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/units.hpp"

namespace penstock::cluster {

struct Runtime {
  core::Seconds per_kernel{};  ///< from one launch to the next. The host runs ahead within an operator: its
                               ///< pass lasts the longer of kernels and launches
  core::Seconds per_task{};    ///< from the end of a task, an operator's pass, to the start of the one that
                               ///< waited for it, beside what data travel
  /// What a pass of one kernel takes, a collective's for example.
  core::Seconds one_kernel() const { return per_kernel + per_task; }
  friend bool operator==(const Runtime&, const Runtime&) = default;
};

struct NamedRuntime {
  std::string name;
  Runtime runtime;
  std::string summary;
  std::string source;
};

/// none, cuda_graph, eager_pytorch, legion_flexflow.
const std::vector<NamedRuntime>& runtimes();

/// A runtime by its name; or a time per kernel or per task, as "5us/kernel", "50us/task". Throws BadInput.
Runtime runtime(std::string_view text);

}  // namespace penstock::cluster
