#pragma once
// Operator times a test states outright.

#include <vector>

#include "penstock/cost/cost_model.hpp"

namespace penstock::support {

/// Seconds per sample, forward and backward, per operator; no launch overhead, no saturation.
class FixedCosts final : public cost::CostModel {
 public:
  FixedCosts(std::vector<double> forward, std::vector<double> backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {}
  static FixedCosts uniform(std::size_t operators, double forward, double backward) {
    return {std::vector<double>(operators, forward), std::vector<double>(operators, backward)};
  }
  cost::OpTime op_time(const graph::OpGraph&, core::OpId op, const cluster::DeviceType&,
                       std::int64_t samples) const override {
    const auto n = static_cast<double>(samples);
    return {core::Seconds(forward_[op.index()] * n), core::Seconds(backward_[op.index()] * n),
            core::Seconds(0)};
  }

 private:
  std::vector<double> forward_, backward_;
};

}  // namespace penstock::support
