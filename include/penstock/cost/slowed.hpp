#pragma once
// Another source's times, all kernels so many times as long.

#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {

/// What a device does not reach in a training run of what its data sheet or a table of single kernels says:
/// clocks under lasting load, memory that others use meanwhile. `costs` must outlive it.
class SlowedCosts final : public CostModel {
 public:
  SlowedCosts(const CostModel& costs, double factor);  ///< above zero

  OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                 std::int64_t samples) const override;
  OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpPart& part) const override;
  core::Seconds step_time(core::Bytes weights, const plan::Training& training,
                          const cluster::DeviceType& device) const override;
  Scratch scratch(const graph::OpGraph& graph, core::OpId op) const override {
    return costs_.scratch(graph, op);
  }
  std::string source() const override { return costs_.source(); }
  std::vector<std::string> foreign(const cluster::Cluster& cluster) const override {
    return costs_.foreign(cluster);
  }

 private:
  OpTime slowed(const OpTime& time) const;

  const CostModel& costs_;
  double factor_;
};

}  // namespace penstock::cost
