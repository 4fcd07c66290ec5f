#pragma once
// A published run, ready to be simulated.

#include "penstock/cost/coverage.hpp"
#include "penstock/experiment/against.hpp"
#include "penstock/experiment/published_problem.hpp"

namespace penstock::experiment {

/// One run on the first devices of its cluster. Throws BadInput for an invalid plan.
class StatedRun {
 public:
  /// `whole`: the cluster as its file states it; the costs complete it. `framework`: cluster::runtime of a run
  /// that states none; "": that of the cluster and the costs.
  StatedRun(const report::PublishedRun& run, const cluster::Cluster& whole, const cost::CostModel& costs,
            const std::string& framework = "");

  const report::PublishedRun& run() const { return run_; }
  report::PublishedPrediction predict(core::StopToken stop) const;
  /// Share of the devices' peak that the measured time corresponds to.
  double measured_mfu() const;
  /// Memory of the largest device.
  double device_gib() const;
  /// Prediction with a constant of time.
  report::PublishedPrediction predict(ClusterConstant what, double value, core::StopToken stop) const;
  /// Absolute relative error of the iteration time with it.
  double error(ClusterConstant what, double value, core::StopToken stop) const;
  cost::OriginCoverage coverage(const cost::EstimatedCosts& costs) const;
  cost::OriginCoverage collectives() const;

 private:
  cost::Problem on(const cluster::Cluster& cluster) const;
  report::PublishedPrediction predict(const cost::Problem& problem, core::StopToken stop) const;

  const report::PublishedRun& run_;
  cluster::Cluster cluster_;
  /// Without the slow-down that costs assume, which a fitted constant replaces.
  cluster::Cluster cool_cluster_;
  const cost::CostModel& costs_;
  PublishedProblem stated_;
};

}  // namespace penstock::experiment
