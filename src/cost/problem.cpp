#include "penstock/cost/problem.hpp"

namespace penstock::cost {

OpTime compute_time(const Problem& problem, std::span<const core::OpId> operators,
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

}  // namespace penstock::cost
