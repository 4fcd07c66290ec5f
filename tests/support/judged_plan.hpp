#pragma once
// Plans judged by the verifier, the bounds, and the waterfall.

#include "penstock/core/random.hpp"
#include "penstock/cost/cost_model.hpp"

namespace penstock::support {

/// A second for every 10^9 FLOPs, whatever the operator.
class FlopCosts final : public cost::CostModel {
 public:
  cost::OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType&,
                       std::int64_t samples) const override;
};

/// Operators [first, last) on devices 0 to `devices` - 1.
plan::Stage stage_of(std::size_t first, std::size_t last, std::size_t devices, std::int64_t micro_batch);

/// Simulates a valid plan on so many devices, with cables, costs and a collective drawn at random, and
/// collectives within passes both ways. The verifier finds no violation, no bound is above the time, and
/// parts of device time sum to it (sim/waterfall.hpp). The bound of one plan counts collectives in closed
/// form, and is checked only with these.
void judge_somewhere(const graph::OpGraph& graph, plan::Plan plan, std::size_t devices, core::Random& random);

}  // namespace penstock::support
