#include "stated_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "penstock/core/error.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/score/order.hpp"
#include "run_prediction.hpp"

namespace penstock::experiment {

using report::PublishedPrediction;

namespace {

double no_slowdown(const cluster::DeviceType&) {
  return 1;
}

cluster::Cluster run_by_framework(const report::PublishedRun& run, const cluster::Cluster& whole,
                                  const std::string& usual) {
  const cluster::Cluster part = whole.first(run.devices);
  const std::string& framework = run.framework.empty() ? usual : run.framework;
  return framework.empty() ? part : part.run_by(cluster::runtime(framework));
}

}  // namespace

StatedRun::StatedRun(const report::PublishedRun& run, const cluster::Cluster& whole,
                     const cost::CostModel& costs, const std::string& framework)
    : run_(run),
      cluster_(cost::measured_by(costs, run_by_framework(run, whole, framework))),
      cool_cluster_(cost::measured_by(
          costs, run_by_framework(run, whole, framework).slowed_where_unstated(no_slowdown))),
      costs_(costs),
      stated_(published_problem(run)) {
  const cost::Problem problem = on(cluster_);
  score::derive_in_flight(problem, stated_.plan);
  const auto violations = plan::structural_violations(stated_.graph, cluster_, stated_.plan);
  if (!violations.empty())
    throw core::BadInput(fmt::format("line {}: run {}: {}", run.line, run.id, violations.front()));
}

double StatedRun::measured_mfu() const {
  const double rate = static_cast<double>(stated_.plan.training.mini_batch) / run_.measured_s;
  return cost::utilisation(stated_.graph, cluster_, rate).mfu;
}

double StatedRun::device_gib() const {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  double most = 0;
  for (const auto& type : cluster_.types()) most = std::max(most, static_cast<double>(type.memory.value()));
  return most / kGib;
}

PublishedPrediction StatedRun::predict(core::StopToken stop) const {
  return predict(on(cluster_), stop);
}

PublishedPrediction StatedRun::predict(ClusterConstant what, double value, core::StopToken stop) const {
  const cluster::Cluster fitted =
      what == ClusterConstant::host_launch
          ? cool_cluster_.run_by(cool_cluster_.types().front().host().with_host(core::Seconds(value)))
          : cluster_.slowed_by(value);
  return predict(on(fitted), stop);
}

double StatedRun::error(ClusterConstant what, double value, core::StopToken stop) const {
  return std::abs(predict(what, value, stop).seconds / run_.measured_s - 1);
}

cost::OriginCoverage StatedRun::coverage(const cost::EstimatedCosts& costs) const {
  return cost::coverage(costs, stated_.graph, cluster_, stated_.plan);
}

cost::OriginCoverage StatedRun::collectives() const {
  return cost::collective_coverage(on(cluster_), stated_.plan);
}

cost::Problem StatedRun::on(const cluster::Cluster& cluster) const {
  return {stated_.graph, cluster, costs_, stated_.plan.training};
}

PublishedPrediction StatedRun::predict(const cost::Problem& problem, core::StopToken stop) const {
  const RunPrediction found = run_prediction(problem, stated_.plan, stop);
  return {&run_, found.seconds, found.gib};
}

}  // namespace penstock::experiment
