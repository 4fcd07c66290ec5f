#pragma once
// Division of one device's time in a run.

#include <map>
#include <vector>

#include "penstock/cost/pass_parts.hpp"
#include "penstock/program/sharing.hpp"
#include "penstock/sim/waterfall.hpp"

namespace penstock::sim {

using PartTimes = std::array<core::Picoseconds, kTimeParts>;

/// Divides spans by the parts of their passes (cost/pass_parts.hpp). Its arguments outlive it.
class DeviceTime {
 public:
  DeviceTime(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options,
             double filled);
  /// Times over the whole run, without the bubble.
  PartTimes of(const trace::ByDevice& run, core::DeviceId device) const;

 private:
  using Shares = std::array<double, kTimeParts>;  ///< seconds
  struct StagePasses {
    program::SampleSharing sharing;
    double flops = 0;                     ///< per sample, all passes
    std::vector<cost::PassParts> passes;  ///< [replica]
    std::map<core::DeviceId, std::size_t> place;
  };
  struct DeviceActivity {
    std::vector<trace::Span> work;  ///< passes and steps, sorted by start
    /// Messages between stages; of reductions; of groups.
    using Intervals = std::vector<std::pair<core::Picoseconds, core::Picoseconds>>;
    Intervals pipeline, reduction, groups;
  };
  DeviceActivity activity(const trace::ByDevice& run, core::DeviceId device) const;
  Shares shares(const trace::Span& span) const;
  void add_waits(const trace::Span& span, const cost::PassParts& parts, Shares& out) const;
  void add_kernels(const trace::Span& span, const cost::PassParts& parts, Shares& out) const;
  core::Seconds model_time(const trace::Span& span) const;
  std::size_t replica(const trace::Span& span) const;

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  double filled_;
  bool slows_;  ///< whether passes may take longer than the sum of their parts
  std::vector<StagePasses> stages_;
  std::vector<core::FlopRate> peaks_;  ///< [type of device]
};

}  // namespace penstock::sim
