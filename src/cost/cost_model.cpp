#include "penstock/cost/cost_model.hpp"

#include "penstock/cost/analytic.hpp"

namespace penstock::cost {

core::Seconds CostModel::step_time(core::Bytes weights, plan::Optimizer optimizer,
                                   const cluster::DeviceType& device) const {
  const double state = optimizer == plan::Optimizer::adam ? 2 : optimizer == plan::Optimizer::momentum ? 1 : 0;
  const double traffic = (3 + 2 * state) * static_cast<double>(weights.value());
  const double rate = device.memory_bandwidth.value() * AnalyticConstants{}.bandwidth_efficiency;
  return device.launch_overhead + core::Seconds(traffic / rate);
}

}  // namespace penstock::cost
