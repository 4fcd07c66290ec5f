#pragma once
// Operator times somebody measured: milliseconds per operator, pass and batch size, from a YAML file.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "penstock/cost/estimated.hpp"
#include "penstock/graph/piper_graph.hpp"

namespace penstock::cost {

/// Measured times at some batch sizes; ascending, at least one.
struct TimeCurve {
  std::vector<std::int64_t> samples;
  std::vector<double> seconds;
  /// Linear between points and, with the slope of the last two but never below the last, beyond the largest;
  /// a single point scales in proportion above it. Below the smallest batch a pass takes a fixed part and the
  /// rest in proportion to its samples. The fixed part is where the line through the two smallest batches
  /// meets no samples, or `launch` seconds for a single point. It is no less than nothing and no more than
  /// the smallest batch takes.
  double at(std::int64_t n, double launch) const;
  /// The fixed part, seconds: launches, and all other time that does not depend on the size.
  double fixed(double launch) const;
  /// Measured at the points, interpolated between them, extrapolated beyond.
  TimeOrigin origin(std::int64_t n) const;

 private:
  /// Value at n of the line through points i and i + 1.
  double line(std::size_t i, double n) const;
};

/// File form (times carry units; only a `total` is split one third forward, two thirds backward):
///     penstock_profile: 1
///     device: V100
///     operators:
///       dense_0: {forward: {1: 0.5ms, 8: 2ms}, backward: {1: 1ms, 8: 4ms}}
///       dense_1: {total: {1: 1.5ms}}
/// and, where it comes from Piper's planner, its data on groups of devices, recomputation and messages
/// (docs/formats/profile.md). `piper` may plan with these as they are; else the times above count. Backward
/// time is split evenly over input and weight gradient for operators with parameters. A pass is launched as
/// one kernel for each of these; launching takes the device type's time.
class ProfileCosts final : public EstimatedCosts {
 public:
  struct OperatorCurves {
    TimeCurve forward;
    TimeCurve backward;
  };
  /// `file` is named where an operator is missing.
  ProfileCosts(std::string device, std::map<std::string, OperatorCurves> entries,
               std::optional<graph::PiperWorkload> workload = {}, std::string file = "")
      : device_(std::move(device)),
        entries_(std::move(entries)),
        workload_(std::move(workload)),
        file_(std::move(file)) {}

  /// Operators of kind input and reshape cost nothing when the file does not have them; any other missing
  /// operator is BadInput. Only the launch overhead of the device type counts: a profile is of one device.
  OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                 std::int64_t samples) const override;
  OpTime part_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                   std::int64_t samples, const OpShard& part) const override {
    return estimate(graph, op, device, samples, part).time();
  }
  /// A member of a tensor-parallel group takes its part of the time beyond the fixed one: `fixed` + part x
  /// (time - fixed). A batch between two that were measured takes a time between theirs. Below the smallest
  /// it is at least in proportion and at most as long; above the largest the other way round.
  using EstimatedCosts::estimate;
  OpEstimate estimate(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                      std::int64_t samples, const OpShard& part) const override;
  cluster::DeviceType measured_device() const override;
  bool goes_by_extents() const override { return false; }
  std::string source() const override { return "profile of " + device_; }
  const std::string& device() const { return device_; }
  const std::map<std::string, OperatorCurves>& entries() const { return entries_; }
  /// The imported workload, of one micro-batch; its setting is not used.
  const std::optional<graph::PiperWorkload>& workload() const { return workload_; }

 private:
  std::string device_;
  std::map<std::string, OperatorCurves> entries_;
  std::optional<graph::PiperWorkload> workload_;
  std::string file_;
};

/// The file form, operators by name; parse_profile gives back the same times.
std::string to_yaml(const ProfileCosts& profile);

ProfileCosts load_profile(const std::string& path);
ProfileCosts parse_profile(const std::string& text, const std::string& file);

}  // namespace penstock::cost
