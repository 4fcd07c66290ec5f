#pragma once
// Constants of a cluster, fitted on a few training runs of the user.

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
  int line = 0;               ///< line of the file
  std::string plan;           ///< plan file of the run, as the row names it
  double seconds = 0;         ///< seconds per iteration
  std::optional<double> gib;  ///< peak of the fullest device in GiB, as reported by the driver
};

/// Parses CSV (RFC 4180) whose header names `plan`, `iteration_s` and, optionally, `memory_gib`. Throws
/// BadInput naming file, line and column.
std::vector<MeasuredRun> parse_measured_runs(const std::string& text, const std::string& file);

/// One run with its predictions.
struct RunFit {
  MeasuredRun run;
  double stated_s = 0, fitted_s = 0;      ///< predicted with the cluster as stated; with the constants
  double stated_gib = 0, fitted_gib = 0;  ///< predicted with the cluster as stated; with the constants
};

/// Constants for all devices of a cluster (cluster::DeviceType), which replace those of its file.
struct FittedCluster {
  std::string cluster;  ///< name in the plans
  std::string next;     ///< model and mini-batch of the first plan, as options of `penstock plan`
  double kernel_slowdown = 1;
  double stated_slowdown = 1;  ///< of the first device type, before the fit
  /// 0: none improves the fit; none: one run does not determine it.
  std::optional<core::Seconds> host_launch;
  std::optional<core::Bytes> reserved;  ///< none if no run states its memory
  std::vector<std::string> doubts;      ///< reasons to mistrust a constant
  std::vector<RunFit> runs;
  std::string text;  ///< text of a cluster file with the constants
};

/// Returns the costs for a cluster's devices; throws BadInput if they are for other devices.
using FitCosts = std::function<std::shared_ptr<const cost::CostModel>(const cluster::Cluster&)>;

/// Fits kernel_slowdown and host_launch with the smallest mean absolute relative error of the iteration
/// times. `reserved` is the median of measured memory minus the memory that plans need. One run determines
/// only kernel_slowdown; constants that no run determines stay as the cluster states. `file` is the table
/// that names the plans, which are found from its folder. `progress` receives the share that is done. Throws
/// BadInput naming file, line and column for a missing plan, and for plans of several clusters; an
/// invalid-plan error; LimitHit or InterruptedError when stopped.
FittedCluster fit_cluster(const std::vector<MeasuredRun>& runs, const std::string& file,
                          const FitCosts& costs, core::StopToken stop,
                          const std::function<void(double)>& progress = {});

/// Keys of a device type in a cluster file, such as "kernel_slowdown: 1.2700, host_launch: 30.00us".
std::string constant_keys(const FittedCluster& fitted);
/// Returns the text of a cluster file with these constants in each device type, which replace its own. Throws
/// BadInput if device types do not each begin on a separate line.
std::string with_constants(const std::string& text, const std::string& file, const FittedCluster& fitted);

}  // namespace penstock::experiment
