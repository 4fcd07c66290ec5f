#pragma once
// Operator times of another, of devices that slow each other down.

#include <vector>

#include "penstock/cost/crowding.hpp"

namespace penstock::support {

/// By operator, the share of each of its passes that goes to memory. Refers to the costs it takes times from.
class CrowdedCosts final : public cost::CostModel {
 public:
  CrowdedCosts(const cost::CostModel& costs, cost::CrowdingSlowdown::Table table,
               std::vector<double> memory_share)
      : costs_(costs), crowding_(std::move(table)), share_(std::move(memory_share)) {}
  cost::OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                       std::int64_t samples) const override {
    return costs_.op_time(graph, op, device, samples);
  }
  cost::OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                         std::int64_t samples, const cost::OpShard& part) const override {
    return costs_.part_time(graph, op, device, samples, part);
  }
  cost::OpTime memory_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                           std::int64_t samples, const cost::OpShard& part) const override {
    const cost::OpTime time = part_time(graph, op, device, samples, part);
    const double share = share_[op.index()];
    return {time.forward * share, time.input_gradient * share, time.weight_gradient * share};
  }
  core::Seconds step_time(core::Bytes weights, const plan::Training& training,
                          const cluster::DeviceType& device) const override {
    return costs_.step_time(weights, training, device);
  }
  const cost::CrowdingSlowdown* crowding() const override { return &crowding_; }

 private:
  const cost::CostModel& costs_;
  cost::CrowdingSlowdown crowding_;
  std::vector<double> share_;
};

}  // namespace penstock::support
