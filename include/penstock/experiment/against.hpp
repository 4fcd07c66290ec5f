#pragma once
// Predictions compared with training runs that others measured.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/estimated.hpp"
#include "penstock/report/published_errors.hpp"

namespace penstock::experiment {

struct AgainstOptions {
  std::string clusters;        ///< folder in which NAME.yaml is the cluster NAME of a run
  std::string framework{};     ///< cluster::runtime of runs that state none; "": that of cluster and costs
  bool allow_foreign = false;  ///< allow costs that do not hold for a cluster's devices
  /// Predictions done; called from any thread.
  std::function<void(std::size_t done, std::size_t total)> progress{};
};

/// Constants of a cluster that no data sheet states, one number each.
enum class ClusterConstant : std::uint8_t {
  host_launch,      ///< seconds that its hosts take to launch a kernel
  kernel_slowdown,  ///< factor on the kernel times of the costs (DeviceType)
  reserved_memory,  ///< GiB that its devices hold in addition to the plan (DeviceType::reserved)
};

/// A constant fitted on chosen runs: it minimises the mean absolute relative error; for memory it is the
/// median of the missing bytes. Runs are chosen by their names: one in ten, whatever it measured.
struct FittedConstant {
  /// Runs that it is fitted on and holds for: one publisher's software on that cluster.
  std::string cluster, set;
  ClusterConstant what = ClusterConstant::kernel_slowdown;
  double value = 0;
  std::size_t runs = 0;            ///< number of runs it is fitted on
  bool of_others = false;          ///< true: these runs are from other sets on the cluster
  double residual = 0;             ///< mean absolute relative error left for these runs; only for times
  std::optional<double> rejected;  ///< same for the other kind of constant, if it was tried
};

/// Predictions with one fitted constant per cluster and set.
struct FittedRung {
  std::vector<FittedConstant> constants;  ///< sorted by cluster, set
  /// Predictions of runs that no constant is fitted on.
  std::vector<report::PublishedPrediction> predictions;
};

/// Shares of the compute time of a set's runs by the origin of that time (cost::Origin).
struct SetCoverage {
  std::string set;
  std::array<double, cost::kOrigins> share{};
};

struct PublishedComparison {
  /// Line of a run's row, and the reason why its measured time is probably in another unit: above the
  /// devices' peak, or a hundred times off the prediction.
  std::vector<std::pair<int, std::string>> doubts;
  std::vector<report::PublishedPrediction>
      as_stated;  ///< all measured runs, with clusters as their files state them
  std::vector<report::PublishedPrediction> unmeasured;  ///< runs without a measurement, in the same way
  /// With at least eight chosen runs: host_launch or kernel_slowdown, whichever leaves less error of these
  /// runs. With fewer: kernel_slowdown. A set without a chosen run uses the kernel_slowdown of all runs
  /// chosen on its cluster, if any. That belongs to the device more than to the software.
  FittedRung time;
  FittedRung memory;                  ///< reserved_memory, for sets with chosen runs
  std::vector<SetCoverage> coverage;  ///< by set, in order of appearance; empty for analytic costs
  /// Coverage of tensor-parallel groups' collectives; empty if costs have no data on them.
  std::vector<SetCoverage> collectives;
  std::vector<std::pair<std::string, std::size_t>> left_out;  ///< reason, and number of runs
};

/// True for runs that constants are fitted on; false for runs without a measurement.
bool fitted_on(const report::PublishedRun& run);

/// Simulates one run on the first of the cluster's devices. `run` must outlive the result. Throws like
/// `against`.
report::PublishedPrediction predicted(const report::PublishedRun& run, const cluster::Cluster& cluster,
                                      const cost::CostModel& costs, core::StopToken stop);

/// Simulates every run that Penstock can express. `runs` must outlive the result. Throws BadInput for a
/// cluster with too few devices, and if no run can be predicted; LimitHit when stopped.
PublishedComparison against(const std::vector<report::PublishedRun>& runs, const cost::CostModel& costs,
                            const AgainstOptions& options, core::StopToken stop);

}  // namespace penstock::experiment
