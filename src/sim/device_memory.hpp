#pragma once
// Memory of a device over time, from the times of its tasks.

#include <span>

#include "engine.hpp"
#include "tasks/build.hpp"

namespace penstock::sim {

/// Fixed memory by kind, and what changes. A micro-batch's activations live from the start of its forward to
/// the end of its backward pass; received tensors from the start of their first message until they become
/// activations; received gradients from the start of their first message to the end of the backward pass they
/// feed. Where that leaves weight gradients to a pass of their own, what these need besides lives in between,
/// among the buffers. All arguments of the constructor outlive this.
class DeviceMemory {
 public:
  DeviceMemory(const cost::Problem& problem, const plan::Plan& plan, const Iteration& iteration,
               const Times& times);
  /// `tasks` hold all messages to the device.
  trace::DeviceTrace of(core::DeviceId device, std::span<const TaskId> tasks) const;

 private:
  struct Place {
    std::size_t stage;
    std::int32_t index;  ///< of the device among the stage's
  };

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const Iteration& iteration_;
  const Times& times_;
  std::vector<std::vector<Place>> places_;           ///< [device]
  std::vector<std::vector<cost::StageLoad>> loads_;  ///< [stage][member of a group]
  std::vector<int> copies_;                          ///< [stage] of weights
};

}  // namespace penstock::sim
