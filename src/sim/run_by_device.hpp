#pragma once
// Result of a simulation, device by device, from the times of its tasks.

#include "device_memory.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/trace/by_device.hpp"

namespace penstock::sim {

/// A closed-form all-reduce is one task but appears on every participant; barriers do not appear. The pieces
/// of a pass, which follow each other on their device, appear as one. All arguments outlive this.
class RunByDevice final : public trace::ByDevice {
 public:
  RunByDevice(const cost::Problem& problem, const plan::Plan& plan, const IterationTasks& iteration,
              const TaskTimes& times);
  RunExtent extent() const override;
  trace::DeviceTrace device(core::DeviceId device) const override;
  void visit(core::DeviceId device, const trace::SpanVisitor& visitor) const override;

 private:
  template <class Use>
  void for_each_device(const Task& task, Use use) const;
  std::span<const TaskId> tasks_of(core::DeviceId device) const;
  trace::Span span_of(const Task& task, TaskId id, core::DeviceId device) const;
  core::Picoseconds collective_of(const Task& task) const;

  const plan::Plan& plan_;
  const IterationTasks& iteration_;
  const TaskTimes& times_;
  DeviceMemory memory_;
  std::vector<std::vector<core::DeviceId>> shared_;  ///< [shared parameters]
  std::vector<std::vector<std::size_t>> replica_;    ///< [stage][device]; empty without collectives
  std::vector<std::size_t> start_;                   ///< [device] one more entry than devices
  std::vector<TaskId> tasks_;                        ///< tasks of one device after the other, in task order
};

}  // namespace penstock::sim
