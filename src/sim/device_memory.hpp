#pragma once
// Memory of a device over time, from the times of its tasks.

#include <span>

#include "engine.hpp"
#include "tasks/build.hpp"

namespace penstock::sim {

/// Fixed memory by kind, and changes over time. A micro-batch's activations live from the start of its
/// forward to the end of its backward pass. Received tensors live from the start of their first message until
/// they become activations. Received gradients live from the start of their first message to the end of the
/// backward pass that reads them. If weight gradients have a separate pass, their other inputs live in
/// between, as buffers. All arguments of the constructor outlive this.
class DeviceMemory {
 public:
  DeviceMemory(const cost::Problem& problem, const plan::Plan& plan, const IterationTasks& iteration,
               const TaskTimes& times);
  /// Memory of one device; `tasks` contain all messages to it.
  trace::DeviceTrace of(core::DeviceId device, std::span<const TaskId> tasks) const;

 private:
  struct StagePlace {
    std::size_t stage;
    std::int32_t index;  ///< index of the device within the stage
  };

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const IterationTasks& iteration_;
  const TaskTimes& times_;
  std::vector<std::vector<StagePlace>> places_;      ///< [device]
  std::vector<std::vector<cost::StageLoad>> loads_;  ///< [stage][member of a group]
  std::vector<int> copies_;                          ///< [stage] copies of weights
};

}  // namespace penstock::sim
