#pragma once
// Simulation of a job's life: failures, checkpoints, restarts, spares, repairs, fewer replicas.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/jobs/goodput.hpp"

namespace penstock::jobs {

/// Reaction of a job to a failure.
enum class FaultPolicy : std::uint8_t {
  restart,  ///< restarts on as many devices as before: replacements are always there
  spare,    ///< takes a spare; without one it waits until a device is repaired
  shrink,   ///< takes a spare; without one it goes on with fewer replicas until a device is repaired
};
std::string_view name(FaultPolicy policy);
FaultPolicy fault_policy(std::string_view name);  ///< throws BadInput for an unknown name
const std::vector<std::string_view>& fault_policy_names();

struct JobSetting {
  FailureCosts costs;
  core::Seconds interval;  ///< time between checkpoints that the job computes; above zero
  FaultPolicy policy = FaultPolicy::restart;
  int spares = 0;          ///< for spare and shrink
  core::Seconds repair{};  ///< time from a failure until the device is a spare again, for spare and shrink
  int replicas = 1;        ///< for shrink: groups of replicas of which a failure takes one out
  /// For shrink: [groups lost, 1 to replicas - 1] speed as a share of the full job's. Called once for each that occurs.
  std::function<double(int)> speed_without{};
};

/// Wall time of a job by what became of it; the parts sum up to `wall`.
struct JobOutcome {
  core::Seconds wall, computing, lost, checkpoints, restarts, waiting;
  double progress_s = 0;  ///< `computing` in seconds of the full job: less than it with fewer replicas
  core::Seconds shrunk;   ///< part of wall time with fewer replicas, without waiting
  std::int64_t failures = 0;
  double goodput() const { return progress_s / wall.value(); }
};

/// Simulates until so many failures have struck. Failures come at a constant rate while the job computes, writes a checkpoint
/// or restarts; with fewer replicas at a lower rate, in proportion. All work since the last checkpoint is lost. A group
/// that was lost rejoins at the first checkpoint after its repair, which takes a restart. Equal seeds give equal lives.
/// Throws LimitHit or InterruptedError as StopToken::check.
JobOutcome job_life(const JobSetting& setting, std::int64_t failures, std::uint64_t seed,
                    core::StopToken stop = {});

}  // namespace penstock::jobs
