#include "penstock/cost/problem.hpp"

namespace penstock::cost {

ComputeTime compute_time(const Problem& problem, std::span<const core::OpId> operators,
                         const cluster::DeviceType& device, std::int64_t samples) {
  ComputeTime sum;
  for (core::OpId op : operators) {
    const OpTime time = problem.costs.op_time(problem.graph, op, device, samples);
    sum.forward += time.forward;
    sum.backward += time.backward();
  }
  return sum;
}

}  // namespace penstock::cost
