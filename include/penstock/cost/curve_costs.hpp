#pragma once
// Costs that need no file: efficiency curves of measured GPUs, for these GPUs and for their relatives.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/cost/analytic.hpp"
#include "penstock/cost/kernel_tables.hpp"

namespace penstock::cost {

/// Efficiency curves of one measured GPU, built into the program (src/cost/curves).
struct DeviceCurves {
  std::string name;     ///< of the device type: "h100"
  std::string source;   ///< where the measurements come from, with their licence
  double slowdown = 1;  ///< kernels under sustained load over isolated kernels on a cool device
  std::string slowdown_source;
  cluster::DeviceType device;  ///< by its data sheet
  TableCosts tables;           ///< isolated kernels on a cool device, or under load where `slowdown` is 1
};
/// Reads them at the first call; thread-safe.
const std::vector<DeviceCurves>& built_in_curves();
/// Changes whenever the curves do: for caches of results.
const std::string& digest_of_curves();

/// Choice of the curves that represent a device type.
struct CurveChoice {
  const DeviceCurves* curves;
  bool own;  ///< the type itself was measured; else the GPU is the nearest relative that was
};
/// By the type's name, upper or lower case: "A100", "gb200". A type of another peak than the measured GPU's
/// is a relative of it. None: nothing like it was measured.
std::optional<CurveChoice> curves_for(const cluster::DeviceType& type);

/// How far predictions by these costs were from training runs that others measured, and on which no constant
/// was fitted.
struct PredictionError {
  std::int64_t runs, sets;  ///< a set is one publisher's software on one machine
  double mean;  ///< of the size of the error of an iteration's time, as a share: over a set's runs, then sets
};
/// By the type's name; none: no run of such devices was predicted. From results/published/curves.
std::optional<PredictionError> prediction_error(std::string_view device_type);
/// By the type's name, else by that of the curves that were measured on it: a cluster file may call it otherwise.
std::optional<PredictionError> prediction_error(const cluster::DeviceType& type);
/// The largest mean error of any type: an assumption for types without measured runs.
double largest_prediction_error();

/// A measured type's kernels take the times of its curves. A relative's kernels are as efficient, against its
/// own data sheet, as the measured GPU's. Pass by pass, time = curve time x (analytic time of the relative /
/// analytic time of the measured GPU). Types without a relative take analytic times. completed() sets the
/// slow-down under sustained load, where the cluster's file states none. It also sets measured collectives
/// within a node, where its links are no slower than those that were measured.
class CurveCosts final : public CostModel {
 public:
  OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                 std::int64_t samples) const override;
  OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) const override;
  core::Seconds core_forward(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                             std::int64_t samples, const OpShard& part) const override;
  core::Seconds step_time(core::Bytes weights, const plan::Training& training,
                          const cluster::DeviceType& device) const override;
  cluster::Cluster completed(const cluster::Cluster& cluster) const override;
  bool equal_of_alike() const override { return true; }
  std::string source() const override { return "efficiency curves"; }
  /// "H100 kernel tables, x1.44 under sustained load"; "data sheet of v100, efficiency of A100, ...".
  std::string source_on(const cluster::Cluster& cluster) const override;

 private:
  AnalyticCosts analytic_{{.flash_as_run = true}};
};

}  // namespace penstock::cost
