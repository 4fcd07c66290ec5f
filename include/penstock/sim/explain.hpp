#pragma once
// Why an iteration takes as long as it does.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/schedule/scheduled_plan.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::sim {

/// What time on the critical path is spent on.
enum class PathKind : std::uint8_t {
  compute,
  step,        ///< of the optimizer
  latency,     ///< of a route
  transfer,    ///< bytes on their way, as long as they take with the route to themselves
  reduce,      ///< the same of an all-reduce, or all of one in closed form
  contention,  ///< time of a transfer beyond that, since others share its links
};
std::string_view name(PathKind kind);

/// Why something on the path did not start earlier: what stands before it on the path, and how the two are
/// tied.
enum class Cause : std::uint8_t {
  begin,    ///< of the run; nothing stands before
  data,     ///< needs the data of the task before
  device,   ///< its device was busy
  link,     ///< a link of its route was busy (fifo)
  buffer,   ///< its receiver had no free buffer
  barrier,  ///< waits behind a barrier
};
std::string_view name(Cause cause);

/// What would have to be faster.
struct Resource {
  enum class Kind : std::uint8_t {
    stage,      ///< index: StageId, all its replicas together
    link,       ///< index into Cluster::links()
    latency,    ///< of all routes together
    reduction,  ///< index: StageId whose gradients an all-reduce in closed form reduces
  };
  Kind kind = Kind::stage;
  std::size_t index = 0;
  friend auto operator<=>(const Resource&, const Resource&) = default;
};

struct PathEntry {
  std::string what;  ///< in words
  Resource resource;
  core::DeviceId device;  ///< of a pass or a step; of what is on its way none
  PathKind kind = PathKind::compute;
  Cause cause = Cause::begin;  ///< of the task's start; later parts of one transfer repeat it
  core::Picoseconds start, end;
};

struct ResourceShare {
  Resource resource;
  std::string name;
  core::Picoseconds time;  ///< on the path
  double share = 0;        ///< of the run
  /// Iteration time, simulated anew, with the resource infinitely fast: the stage's passes and steps take no
  /// time on any of its devices (one replica alone would wait for the others), the link has no limit, latency
  /// is zero, the all-reduce is done at once. Only for the first few.
  std::optional<core::Picoseconds> without;
};

struct Explanation {
  core::Picoseconds iteration;
  core::Picoseconds run;        ///< first start to last end; of one mini-batch the iteration
  std::vector<PathEntry> path;  ///< by time; tiles [0, run] without gap or overlap
  std::vector<ResourceShare>
      shares;  ///< largest first; of equal ones stages, links, latency, reductions, by index
};

/// Walks back from the last task to end, each time to what made it start: the predecessor that ended last (of
/// several the device's own previous task, else the one listed first) or, on a fifo network, the transfer
/// that had held the link. One critical path of possibly several (Kelley and Walker, "Critical-path planning
/// and scheduling", EJCC 1959, call the rest float); differs in that the order of links, which a simulation
/// alone knows, takes part. On a fair network what a flow takes beyond its time alone is charged to the link
/// of its route that was fullest meanwhile. `simulated_anew`: how many resources get `without`. Where no two
/// transfers meet on a link, `without` is at most the iteration; where they do, a faster resource may reorder
/// them and cost time, as in Graham's anomalies (SIAM J. Appl. Math. 1969). Preconditions and errors as
/// simulate().
Explanation explain(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                    const SimulationOptions& options = {}, std::size_t simulated_anew = 5);

/// A stretch of the path: entries [first, last].
struct PathRun {
  std::size_t first = 0, last = 0;
  std::size_t main = 0;  ///< first entry of the resource and kind that most of the run's time is spent on
  core::Picoseconds main_time;  ///< spent on them
};

/// The path in at most `most` (>= 1) runs: neighbours of one resource and kind first, then runs of about
/// equal length.
std::vector<PathRun> compressed(const Explanation& explanation, std::size_t most);

/// Settings without effect, in words: a collective or bucket size where no stage has gradients to reduce,
/// devices that serve no stage, in-flight counts that the order never fills, given routes of the cluster that
/// nothing takes.
std::vector<std::string> unused(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                const SimulationOptions& options = {});

}  // namespace penstock::sim
