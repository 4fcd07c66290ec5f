#include "penstock/cost/problem.hpp"

#include "penstock/cost/host.hpp"

namespace penstock::cost {

OpTime device_time(const Problem& problem, std::span<const core::OpId> operators,
                   const cluster::DeviceType& device, std::int64_t samples) {
  OpTime sum;
  for (core::OpId op : operators) {
    const OpTime time = problem.costs.op_time(problem.graph, op, device, samples);
    sum.forward += time.forward;
    sum.input_gradient += time.input_gradient;
    sum.weight_gradient += time.weight_gradient;
  }
  return sum;
}

OpTime compute_time(const Problem& problem, std::span<const core::OpId> operators,
                    const cluster::DeviceType& device, std::int64_t samples) {
  return launched(device_time(problem, operators, device, samples),
                  launch_time(problem.graph, operators, device));
}

}  // namespace penstock::cost
