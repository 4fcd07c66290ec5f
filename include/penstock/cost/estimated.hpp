#pragma once
// Operator times with their origin and an interval of trust.

#include "penstock/cost/calibration.hpp"
#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {

/// Worst last.
enum class TimeOrigin : std::uint8_t {
  measured,
  interpolated,  ///< between batch sizes, sequence lengths or shapes
  extrapolated,  ///< beyond them
  analytic,      ///< nothing of its kind was measured
};
inline constexpr std::size_t kOrigins = 4;
std::string_view name(TimeOrigin origin);

struct PassEstimate {
  core::Seconds time, low, high;
  TimeOrigin origin = TimeOrigin::measured;
};
PassEstimate scaled(const PassEstimate& pass, double factor);
/// One after the other; a pass that takes no time adds no information.
PassEstimate sum(const PassEstimate& a, const PassEstimate& b);

/// All zero for passes the operator does not have.
struct OpEstimate {
  std::array<PassEstimate, graph::kPasses> passes;
  const PassEstimate& operator[](graph::Pass pass) const { return passes[static_cast<std::size_t>(pass)]; }
  OpTime time() const { return {passes[0].time, passes[1].time, passes[2].time}; }
  core::Seconds total() const { return time().total(); }
  core::Seconds low() const { return passes[0].low + passes[1].low + passes[2].low; }
  core::Seconds high() const { return passes[0].high + passes[1].high + passes[2].high; }
  TimeOrigin origin() const;  ///< the worst among passes that take time
};
OpEstimate scaled(OpEstimate whole, double factor);
OpEstimate sum(const OpEstimate& a, const OpEstimate& b);

/// A cost model made of measurements.
class EstimatedCosts : public CostModel {
 public:
  /// `samples` >= 1; of the part as CostModel::part_time. Throws BadInput as op_time.
  virtual OpEstimate estimate(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                              std::int64_t samples, const OpShard& part) const = 0;
  OpEstimate estimate(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                      std::int64_t samples) const {
    return estimate(graph, op, device, samples, {});
  }
  /// The device on which the times were taken, as far as it is known.
  virtual cluster::DeviceType measured_device() const = 0;
};

}  // namespace penstock::cost
