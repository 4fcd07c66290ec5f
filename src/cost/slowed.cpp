#include "penstock/cost/slowed.hpp"

#include "penstock/core/error.hpp"

namespace penstock::cost {

SlowedCosts::SlowedCosts(const CostModel& costs, double factor) : costs_(costs), factor_(factor) {
  core::require(factor > 0, "kernels take time");
}

OpTime SlowedCosts::slowed(const OpTime& time) const {
  return {time.forward * factor_, time.input_gradient * factor_, time.weight_gradient * factor_};
}

OpTime SlowedCosts::op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                            std::int64_t samples) const {
  return slowed(costs_.op_time(graph, op, device, samples));
}

OpTime SlowedCosts::part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                              std::int64_t samples, const OpPart& part) const {
  return slowed(costs_.part_time(graph, op, device, samples, part));
}

core::Seconds SlowedCosts::step_time(core::Bytes weights, const plan::Training& training,
                                     const cluster::DeviceType& device) const {
  return costs_.step_time(weights, training, device) * factor_;
}

}  // namespace penstock::cost
