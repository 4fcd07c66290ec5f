#include "penstock/cost/problem.hpp"

#include <algorithm>

#include "penstock/cost/host.hpp"
#include "penstock/cost/unfused.hpp"

namespace penstock::cost {

OpTime kernel_time(const Problem& problem, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) {
  OpTime time = problem.costs.part_time(problem.graph, op, device, samples, part);
  if (!device.host().fused) time = unfused(problem.graph.op(op), time);
  // Behind only frozen operators no operator needs the gradient of an input.
  if (problem.graph.frozen_parameters() > 0 && !problem.graph.trains_above(op))
    time.input_gradient = core::Seconds(0);
  for (core::Seconds* pass : {&time.forward, &time.input_gradient, &time.weight_gradient})
    *pass = *pass * device.slowdown();
  return time;
}

core::Seconds update_time(const Problem& problem, core::Bytes weights, const cluster::DeviceType& device) {
  return problem.costs.step_time(weights, problem.training, device) * device.slowdown();
}

OpTime operator_time(const Problem& problem, core::OpId op, const cluster::DeviceType& device,
                     std::int64_t samples, const OpShard& part) {
  return handed_over(problem.graph, op, device,
                     launched(kernel_time(problem, op, device, samples, part),
                              launch_time(problem.graph, op, device, samples, part)));
}

core::Seconds core_forward(const Problem& problem, core::OpId op, const cluster::DeviceType& device,
                           std::int64_t samples, const OpShard& part) {
  const core::Seconds kernels =
      problem.costs.core_forward(problem.graph, op, device, samples, part) * device.slowdown();
  return std::max(kernels, core_launch_time(problem.graph, op, device, samples, part)) +
         device.host().per_task;
}

OpTime compute_time(const Problem& problem, std::span<const core::OpId> operators,
                    const cluster::DeviceType& device, std::int64_t samples) {
  OpTime sum;
  for (const core::OpId op : operators) {
    const OpTime time = operator_time(problem, op, device, samples);
    sum.forward += time.forward;
    sum.input_gradient += time.input_gradient;
    sum.weight_gradient += time.weight_gradient;
  }
  return sum;
}

}  // namespace penstock::cost
