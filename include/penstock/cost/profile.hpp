#pragma once
// Operator times somebody measured: milliseconds per operator, pass and batch size, from a YAML file.

#include <map>
#include <string>
#include <vector>

#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {

/// Measured times at some batch sizes; ascending, at least one.
struct Curve {
  std::vector<std::int64_t> samples;
  std::vector<double> seconds;
  /// Linear between points and, with the slope of the last two, beyond the largest; below the smallest the
  /// smallest batch's time. A single point scales in proportion above it.
  double at(std::int64_t n) const;
};

/// File form (times carry units; `total` alone is split one third forward, two thirds backward):
///     penstock_profile: 1
///     device: V100
///     operators:
///       dense_0: {forward: {1: 0.5ms, 8: 2ms}, backward: {1: 1ms, 8: 4ms}}
///       dense_1: {total: {1: 1.5ms}}
/// Backward time is split evenly over input and weight gradient for operators with parameters.
class ProfileCosts final : public CostModel {
 public:
  struct Entry {
    Curve forward;
    Curve backward;
  };
  ProfileCosts(std::string device, std::map<std::string, Entry> entries)
      : device_(std::move(device)), entries_(std::move(entries)) {}

  /// Operators of kind input and reshape cost nothing when the file is silent about them; any other silence
  /// is BadInput. The device type is not looked at: a profile knows one device.
  OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                 std::int64_t samples) const override;
  std::string source() const override { return "profile of " + device_; }
  const std::string& device() const { return device_; }
  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  std::string device_;
  std::map<std::string, Entry> entries_;
};

/// The file form, operators by name; parse_profile gives back the same times.
std::string to_yaml(const ProfileCosts& profile);

ProfileCosts load_profile(const std::string& path);
ProfileCosts parse_profile(const std::string& text, const std::string& file);

}  // namespace penstock::cost
