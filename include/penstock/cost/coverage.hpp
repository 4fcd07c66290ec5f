#pragma once
// How much of a model, or of a plan, a calibration or a profile has measured.

#include "penstock/cost/estimated.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::cost {

/// Sums by origin: operators with work by their worst pass, seconds by pass.
struct OriginCoverage {
  std::array<std::int64_t, kOrigins> operators{};
  std::array<double, kOrigins> seconds{};
  void add(const OpEstimate& estimate, double times = 1);  ///< `times`: how often it runs
  double time_share(TimeOrigin origin) const;              ///< 0 without any time
};

/// Coverage of one pass over all operators on the measured device.
OriginCoverage coverage(const EstimatedCosts& costs, const graph::OpGraph& graph, std::int64_t samples);

/// Coverage of one iteration: each stage's operators, for every micro-batch and on every device.
OriginCoverage coverage(const EstimatedCosts& costs, const graph::OpGraph& graph,
                        const cluster::Cluster& cluster, const plan::Plan& plan);

/// Coverage of the collectives of one iteration: those of tensor-parallel groups between operators, forward
/// and backward, for every micro-batch and on every device.
OriginCoverage collective_coverage(const Problem& problem, const plan::Plan& plan);

/// An operator that represents all of its shape; one without a shape only itself.
struct CoverageGap {
  core::OpId op;  ///< the first of them
  std::int64_t operators = 0;
  OpEstimate estimate;  ///< of one
  core::Seconds time() const { return estimate.total() * static_cast<double>(operators); }
};
/// Shapes that were not measured: the most time first.
std::vector<CoverageGap> gaps(const EstimatedCosts& costs, const graph::OpGraph& graph, std::int64_t samples);

}  // namespace penstock::cost
