#pragma once
// Constants of a cluster, fitted on a few training runs of one's own.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/core/units.hpp"
#include "penstock/cost/cost_model.hpp"

namespace penstock::experiment {

struct MeasuredRun {
  int line = 0;               ///< of the file
  std::string plan;           ///< plan file of what ran, as the row names it
  double seconds = 0;         ///< of an iteration
  std::optional<double> gib;  ///< peak of the fullest device, as the driver counts it
};

/// CSV (RFC 4180) whose header names `plan`, `iteration_s` and, unless nothing is known of memory,
/// `memory_gib`. Throws BadInput naming file, line and column.
std::vector<MeasuredRun> parse_measured_runs(const std::string& text, const std::string& file);

/// One run beside its predictions.
struct RunFit {
  MeasuredRun run;
  double stated_s = 0, fitted_s = 0;      ///< predicted with the cluster as stated, and with the constants
  double stated_gib = 0, fitted_gib = 0;  ///< likewise
};

/// Constants that hold for all devices of a cluster (cluster::DeviceType), in place of those that its file
/// states.
struct FittedCluster {
  std::string cluster;  ///< as the plans name it
  std::string next;     ///< model and mini-batch of the first plan, as options of `penstock plan`
  double kernel_slowdown = 1;
  std::optional<core::Seconds> host_launch;  ///< 0: none explains more; none: one run does not tell it
  std::optional<core::Bytes> reserved;       ///< none where no run has its memory
  std::vector<RunFit> runs;
  std::string text;  ///< of a cluster file that states them
};

/// The costs of a cluster's devices; throws BadInput where they are of others.
using FitCosts = std::function<std::shared_ptr<const cost::CostModel>(const cluster::Cluster&)>;

/// kernel_slowdown and host_launch with the least mean size of the relative error of the iteration times;
/// `reserved` is the median of what measured memory is above what plans need. One run tells kernel_slowdown
/// alone; what no run tells stays as the cluster states it. `file` is the table that names the plans, which
/// are found from its folder. `progress` is told the share that is done. Throws BadInput naming file, line
/// and column for a plan that is not there, and for plans of several clusters; an invalid-plan error;
/// LimitHit or Interrupted when stopped.
FittedCluster fit_cluster(const std::vector<MeasuredRun>& runs, const std::string& file,
                          const FitCosts& costs, core::StopToken stop,
                          const std::function<void(double)>& progress = {});

/// The keys of a device type in a cluster file: "kernel_slowdown: 1.2700, host_launch: 30.00us".
std::string constant_keys(const FittedCluster& fitted);
/// The text of a cluster file with these in each device type instead of what it says of them. Throws BadInput
/// where device types do not each begin a line of their own.
std::string with_constants(const std::string& text, const std::string& file, const FittedCluster& fitted);

}  // namespace penstock::experiment
