#pragma once
// Progress of a pass beside the neighbours that the trace shows.

#include <optional>

#include "evidence.hpp"
#include "penstock/cost/crowding.hpp"

namespace penstock::check {

/// Stretches of time, disjoint and in order.
using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The verifier's own version of the rule. At every moment two factors slow a pass: the device's factor for
/// communication, and the effect of the passes that neighbours run.
class DevicePace {
 public:
  /// `communicates`: the intervals in which the device does, at `overlap` times the pace.
  DevicePace(const TraceEvidence& evidence, DeviceId device, Intervals communicates, double overlap);

  /// False if times of passes do not follow from the trace. This is so if a group of devices waits within a
  /// pass that is cut at its buckets: the trace does not show how long.
  bool known() const { return known_; }
  struct PassProgress {
    double done = 0;           ///< ps at full pace
    std::int64_t changes = 0;  ///< of pace meanwhile
  };
  PassProgress work(const Span& span) const;

 private:
  void add_neighbours(const TraceEvidence& evidence, DeviceId device);
  cost::UseShares uses(const Span& span) const;
  std::vector<cost::UseShares> running(std::int64_t time) const;
  double slowdown(const cost::UseShares& own, std::int64_t time) const;

  using Key = std::pair<DeviceId, StageId>;
  std::map<Key, cost::PassUses> uses_;  ///< of the device and its neighbours
  std::vector<const Span*> beside_;     ///< passes of neighbours, by start
  std::vector<std::int64_t> changes_;   ///< when the pace may change, ascending
  Intervals communicates_;
  double overlap_;
  const cost::CrowdingSlowdown* crowding_;
  std::int64_t longest_ = 0;  ///< longest of these passes
  bool known_ = true;
};

}  // namespace penstock::check
