#pragma once
// Predictions held against runs that others measured.

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
  std::string clusters;        ///< folder whose NAME.yaml is the cluster NAME of a run
  bool allow_foreign = false;  ///< costs that are known not to hold for a cluster's devices
  std::function<void(std::size_t done, std::size_t total)> progress{};  ///< predictions; from any thread
};

/// Properties of a cluster that no data sheet states, one number each.
enum class Constant : std::uint8_t {
  host_launch,      ///< seconds that its hosts take to launch a kernel
  kernel_slowdown,  ///< how many times as long as the costs say its kernels take (DeviceType)
  reserved_memory,  ///< GiB that its devices hold beside the plan (DeviceType::reserved)
};

/// A constant fitted so that the mean size of the error over the runs chosen for it is least; for memory, the
/// median of what is missing. A run is chosen by its name: one in ten, whatever it measured.
struct FittedConstant {
  std::string cluster, set;  ///< whose runs it is fitted on and holds for: one publisher's software there
  Constant what = Constant::kernel_slowdown;
  double value = 0;
  std::size_t runs = 0;            ///< number of runs behind it
  bool of_others = false;          ///< these are of other sets on the cluster
  double residual = 0;             ///< mean size of the error that it leaves of these; of times only
  std::optional<double> rejected;  ///< the same of the other kind of constant, where it was tried
};

/// One constant per cluster and set, and nothing else fitted.
struct FittedRung {
  std::vector<FittedConstant> constants;                 ///< in order of cluster, set
  std::vector<report::PublishedPrediction> predictions;  ///< of runs that none stands on
};

/// Shares of the compute time of a set's runs by the origin of that time (cost::Origin).
struct SetCoverage {
  std::string set;
  std::array<double, cost::kOrigins> share{};
};

struct Against {
  /// Line of a run's row and why its measured time is most likely of another unit: more than the devices'
  /// peak allows, or a hundred times off the prediction.
  std::vector<std::pair<int, std::string>> doubts;
  std::vector<report::PublishedPrediction>
      as_stated;  ///< of all measured runs, with clusters as their files state them
  std::vector<report::PublishedPrediction> unmeasured;  ///< the same of runs that nobody measured
  /// Of eight chosen runs or more host_launch or kernel_slowdown, whichever leaves less of the error of these
  /// runs; of fewer kernel_slowdown. A set without a chosen run takes kernel_slowdown of all that were chosen
  /// on its cluster, if any: that is the device's more than the software's.
  FittedRung time;
  FittedRung memory;                     ///< reserved_memory, of sets with chosen runs
  std::vector<SetCoverage> coverage;     ///< set by set, in order of appearance; none of analytic costs
  std::vector<SetCoverage> collectives;  ///< the same of tensor-parallel groups' collectives; none where the
                                         ///< costs know of none
  std::vector<std::pair<std::string, std::size_t>> left_out;  ///< why, and how many runs
};

/// Whether a run is one of those that constants are fitted on; never one that nobody measured.
bool fitted_on(const report::PublishedRun& run);

/// One run, simulated on the first of the cluster's devices. `run` must outlive the result. Throws as
/// `against`.
report::PublishedPrediction predicted(const report::PublishedRun& run, const cluster::Cluster& cluster,
                                      const cost::CostModel& costs, core::StopToken stop);

/// Simulates every run that can be stated. `runs` must outlive the result. Throws BadInput for a cluster with
/// too few devices, and where no run can be predicted; LimitHit when stopped.
Against against(const std::vector<report::PublishedRun>& runs, const cost::CostModel& costs,
                const AgainstOptions& options, core::StopToken stop);

}  // namespace penstock::experiment
