#pragma once
// Operators whose passes all take one second per sample.

#include "penstock/cost/cost_model.hpp"

namespace penstock::support {

/// F, I and W of 1 s per sample.
class ThirdsCosts final : public cost::CostModel {
 public:
  cost::OpTime op_time(const graph::OpGraph&, core::OpId, const cluster::DeviceType&,
                       std::int64_t samples) const override {
    const core::Seconds time(static_cast<double>(samples));
    return {time, time, time};
  }
};

}  // namespace penstock::support
