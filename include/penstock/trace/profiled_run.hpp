#pragma once
// A profiled iteration as a trace, pass by pass beside the simulation of its plan.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/trace/comparison.hpp"
#include "penstock/trace/rank_profile.hpp"

namespace penstock::trace {

/// Times of one recorded rank, in seconds of one iteration.
struct RankTimes {
  core::DeviceId device;
  bool on_gpu = false;   ///< passes are timed by their kernels, else by operators of the host
  QuantityPair compute;  ///< passes and optimizer steps
  QuantityPair idle;     ///< the rest of the iteration
  double awaited = 0;    ///< measured idle time during which a message or collective is under way
};

struct ProfiledRun {
  std::optional<std::int64_t> step;  ///< number N of ProfilerStep#N; none: the profiles name no steps
  bool whole = true;                 ///< every device of the plan is recorded
  Trace measured;   ///< passes and optimizer steps of the recorded devices; no messages, no memory
  Trace simulated;  ///< spans of the recorded devices; recomputation is a part of its backward pass
  std::vector<RankTimes> ranks;    ///< by device
  std::vector<std::string> notes;  ///< assumptions, and differences that are no errors
};

/// Matches the passes of profiles with those of a simulated iteration. Global rank r is device r. A pass whose name
/// has no stage is of its rank's only stage; the k-th pass whose name has no number is the k-th of the plan's order.
/// The time of a pass reaches from its first to its last kernel (GPU) or operator (host) other than communication, so
/// that waits before it do not count. A pass without any takes no time; if no pass has any, announcements count. `step`: number of the iteration;
/// none: the last one that all profiles have. Profiles of one host share a clock; several hosts are aligned at the
/// start of the step, which `notes` states. Throws BadInput if passes are missing, surplus, twice there or overlap, if a
/// rank is unknown or occurs twice, or if a step takes longer than kLongestStep.
ProfiledRun match_profiles(const std::vector<RankProfile>& profiles, const Trace& simulated,
                           std::optional<std::int64_t> step = {});

/// Upper bound for a step: longer ones have times in another unit.
inline constexpr core::Seconds kLongestStep{6 * 3600.0};

}  // namespace penstock::trace
