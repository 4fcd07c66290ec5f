#pragma once
// Explains the length of an iteration by its critical path.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// Kind of work on the critical path.
enum class PathKind : std::uint8_t {
  compute,
  step,        ///< update by the optimizer
  latency,     ///< latency of a route
  transfer,    ///< bytes in transfer, for as long as they take with the route to themselves
  reduce,      ///< same for an all-reduce; with a closed form, all of it
  contention,  ///< additional time of a transfer because others share its links
};
std::string_view name(PathKind kind);

/// Reason why an entry of the path did not start earlier, relative to the entry before it.
enum class StartCause : std::uint8_t {
  begin,    ///< start of the run; no entry before it
  data,     ///< needs the data of the task before
  device,   ///< its device was busy
  link,     ///< a link of its route was busy (fifo)
  buffer,   ///< its receiver had no free buffer
  barrier,  ///< waited for a barrier
};
std::string_view name(StartCause cause);

/// A resource that could be faster.
struct LimitingResource {
  enum class ResourceKind : std::uint8_t {
    stage,      ///< index: StageId; all its replicas together
    link,       ///< index into Cluster::links()
    latency,    ///< of all routes together
    reduction,  ///< index: StageId whose gradients a closed-form all-reduce reduces
  };
  ResourceKind kind = ResourceKind::stage;
  std::size_t index = 0;
  friend auto operator<=>(const LimitingResource&, const LimitingResource&) = default;
};

struct PathEntry {
  std::string what;  ///< description in words
  LimitingResource resource;
  core::DeviceId device;  ///< device of a pass or step; invalid for transfers
  PathKind kind = PathKind::compute;
  StartCause cause = StartCause::begin;  ///< cause of the task's start; later parts of a transfer repeat it
  core::Picoseconds start, end;
};

struct ResourceShare {
  LimitingResource resource;
  std::string name;
  core::Picoseconds time;  ///< time on the path
  double share = 0;        ///< share of the run
  /// Simulated iteration time with this resource infinitely fast. Stage: its passes and steps take no time on
  /// any of its devices (with a single fast replica, it would wait for the others). Link: no limit. Latency:
  /// zero. Reduction: done at once. Only for the first few resources.
  std::optional<core::Picoseconds> without;
};

struct TimeExplanation {
  core::Picoseconds iteration;
  core::Picoseconds run;  ///< first start to last end; equal to the iteration if there is one mini-batch
  std::vector<PathEntry> path;  ///< sorted by time; covers [0, run] without gap or overlap
  std::vector<ResourceShare>
      shares;  ///< largest first; among equals stages, links, latency, reductions, by index
};

/// Walks back from the last task to end, each time to the task that made it start. That is the predecessor
/// that ended last; among several the device's own previous task, else the one listed first. On a fifo
/// network it may be the transfer that had held the link. The result is one of possibly several critical
/// paths (Kelley and Walker, "Critical-path planning and scheduling", EJCC 1959, call the rest float).
/// Differs: includes the order on links, which only a simulation determines.
/// On a fair network, the additional time of a flow is charged to the link of its route that was fullest
/// meanwhile. `simulated_anew`: number of resources that get `without`. If no two transfers meet on a link,
/// `without` is at most the iteration. Otherwise a faster resource may reorder them and cost time, as in
/// Graham's anomalies (SIAM J. Appl. Math. 1969). Preconditions and errors as for simulate().
TimeExplanation explain(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                        const SimulationOptions& options = {}, std::size_t simulated_anew = 5);

/// Consecutive entries [first, last] of the path.
struct PathRun {
  std::size_t first = 0, last = 0;
  std::size_t main = 0;         ///< first entry of the resource and kind with most of the run's time
  core::Picoseconds main_time;  ///< time of that resource and kind
};

/// Merges the path into at most `most` (>= 1) runs: first neighbours of one resource and kind, then runs of
/// about equal length.
std::vector<PathRun> compressed(const TimeExplanation& explanation, std::size_t most);

/// Settings without effect, in words. They are a collective or bucket size if no stage has gradients to
/// reduce, and devices that serve no stage. Also in-flight counts that the order never reaches, and given
/// routes that no transfer takes.
std::vector<std::string> unused(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                const SimulationOptions& options = {});

}  // namespace penstock::sim
