#pragma once
// Sizes of clusters for a training run: tokens in days, and what that costs.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "penstock/experiment/assumptions.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/jobs/goodput.hpp"
#include "penstock/report/lines.hpp"

namespace penstock::experiment {

/// Goal of a training run, and limits on it.
struct SizingGoal {
  double tokens = 0;
  std::optional<double> days{};     ///< of wall time; none: the answer
  std::optional<double> dollars{};  ///< for all devices and all of the time
};

/// Assumptions about machines. Defaults come from published runs; see sizing_assumptions().
struct SizingMachine {
  /// Hours between failures per device. Default: 419 unexpected interruptions of 16,384 H100 in 54 days (Llama Team, The
  /// Llama 3 Herd of Models, 2024, section 3.3.4).
  double mtbf_hours = 16'384.0 * 54 * 24 / 419;
  /// Time for which a checkpoint stops the job. None: its bytes over the storage of all nodes.
  std::optional<core::Seconds> checkpoint{};
  /// Storage bandwidth per node. Default: 2 TB/s for the 2,048 nodes of the same run (section 3.3.1).
  core::Bandwidth storage{2e12 / 2048};
  core::Seconds restart{600};  ///< from a failure until the job computes again; ours
  std::optional<double>
      margin{};  ///< share by which days and dollars may be off. None: the expected error of the costs
  /// Power of the rest of a node over that of its devices. Default: DGX H100, 10.2 kW with 8 devices of 700 W (user guide).
  double node_overhead = 10'200.0 / 5600 - 1;
  std::map<std::string, double> prices{};  ///< [device type, lower case] dollars per device and hour
};

/// A training run on one cluster.
struct SizedCluster {
  std::string cluster;  ///< such as 8xH100x32
  std::int64_t devices = 0, nodes = 0;
  CellOutcome outcome;
  double days = 0;        ///< wall time with failures; infinite if they leave no progress
  double margin = 0;      ///< share by which `days` may be off, both ways
  bool measured = false;  ///< runs of these devices were predicted; else their margin is an assumption
  jobs::FailureCosts failures{};
  core::Seconds interval{};  ///< work between two checkpoints (jobs::daly_interval)
  double goodput = 0;        ///< share of wall time that becomes progress
  double restarts = 0;       ///< expected number of failures
  std::optional<double> dollars{}, megawatt_hours{};

  double least_days() const { return days * (1 - margin); }
  double most_days() const { return days * (1 + margin); }
  /// True if even `most_days`, and their price, are within the limits.
  bool meets(const SizingGoal& goal) const;
};

/// Computes a run's time, failures, cost and energy from the plan's tokens per second. All nodes share the load of a checkpoint.
SizedCluster sized_cluster(const cost::Problem& problem, CellOutcome outcome, const SizingGoal& goal,
                           const SizingMachine& machine);

/// A problem on clusters of several sizes. References must outlive it.
struct SizingProblem {
  std::string gpus;  ///< "H100", or an exact cluster
  const graph::OpGraph& graph;
  const cost::CostModel& costs;
  Cell cell;  ///< model, training, runtime and reserve; on any of the clusters
  std::function<std::int64_t(std::int64_t devices)> samples;  ///< mini-batch on so many devices
};

/// Mini-batch near `samples` that replicas on so many devices can share. It is a multiple of the odd factor of `devices`, and of
/// the largest power of two with which it is at most an eighth off. Returns `samples` where devices are fewer, or no multiple
/// is near.
std::int64_t shared_samples(std::int64_t samples, std::int64_t devices);

struct SizingPlanners {
  planners::PlannerChoice fast;  ///< for every cluster that is tried
  planners::PlannerChoice last;  ///< again, for the answers
};

/// Receiver of progress: one line.
using SizingProgress = std::function<void(const std::string&)>;

/// Clusters found for one kind of device.
struct SizingAnswer {
  std::string gpus;
  std::vector<SizedCluster> tried;        ///< fewest devices first
  std::optional<std::size_t> smallest{};  ///< index: fewest devices that meet the goal
  std::optional<std::size_t> cheapest{};  ///< index: least dollars of those; none without prices
  std::string note{};                     ///< why there is no answer
  std::string costs{};   ///< origin of operator times, with the error that is expected of them
  bool complete = true;  ///< false: a limit ended the search
};

/// Finds the clusters of whole nodes of this GPU (cluster::rented) that meet the goal, which has days. Counts of nodes are those
/// of a search for the fewest that are in time (node_search.hpp), by planners.fast. The fewest are planned again by
/// planners.last, and fewer are tried if that plan leaves time. Assumes that more nodes are faster.
SizingAnswer size_clusters(const SizingProblem& problem, const SizingGoal& goal, const SizingMachine& machine,
                           const SizingPlanners& planners, const SearchSetting& setting, core::StopToken stop,
                           const SizingProgress& told = {});

/// Sizes one cluster, of any form: it is the answer if it meets the goal.
SizingAnswer size_cluster(const SizingProblem& problem, const SizingGoal& goal, const SizingMachine& machine,
                          const SizingPlanners& planners, const SearchSetting& setting, core::StopToken stop,
                          const SizingProgress& told = {});

/// All answers of one question.
struct SizingReport {
  SizingGoal goal;
  std::string model;
  std::vector<SizingAnswer> answers;
  Assumptions assumptions;
};

/// Lines about failures, checkpoints, margin, power and prices; `stated`: keys that the user gave.
Assumptions sizing_assumptions(const SizingMachine& machine, const std::vector<SizingAnswer>& answers,
                               const std::vector<std::string>& stated);

std::string sizing_table(const SizingReport& report, const report::ScreenLimits& screen = {});
/// One line per cluster that was tried.
std::string sizing_csv(const SizingReport& report);
std::string sizing_json(const SizingReport& report, const report::Provenance& provenance);
/// Days over devices, a line for each kind of device, both axes logarithmic.
std::string sizing_svg(const SizingReport& report);

}  // namespace penstock::experiment
