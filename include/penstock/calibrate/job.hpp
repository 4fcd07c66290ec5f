#pragma once
// Measurements one by one, within a budget, kept as they come.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/calibration.hpp"

namespace penstock::calibrate {

/// One measurement, and where it goes.
struct Job {
  std::string name;                                    ///< such as "linear fc1 x 8"
  core::Seconds estimate;                              ///< of the time it takes
  bool essential = false;                              ///< done whatever the budget
  std::function<bool(const cost::Calibration&)> done;  ///< whether the calibration has the result
  std::function<void(cost::Calibration&)> run;         ///< puts it in there, or throws and changes nothing
};

struct Progress {
  std::string name;  ///< of the job that is over
  std::size_t done = 0, all = 0;
  core::Seconds left;  ///< estimates of the jobs to come, scaled by how those of the past came out
};

struct Outcome {
  std::size_t measured = 0;
  std::size_t known = 0;                ///< were there before
  std::vector<std::string> unmeasured;  ///< names; the budget had no room
  std::vector<std::string> refused;     ///< "name: why", where the device has no kernel or no room
  bool interrupted = false;
};

/// What the jobs' owner sees and decides.
struct Watch {
  std::function<core::Seconds()> now;                  ///< a clock that only goes forward
  std::function<void(const cost::Calibration&)> save;  ///< every few seconds, and at the end
  std::function<void(const Progress&)> progress;       ///< after each job
};

/// Runs the jobs in order. A job that does not fit what is left of the budget is passed over, since a smaller
/// one may. BadInput of a job is noted, Interrupted ends the loop; whatever was measured is saved either way.
Outcome run_jobs(const std::vector<Job>& jobs, cost::Calibration& calibration,
                 std::optional<core::Seconds> budget, const Watch& watch, core::StopToken stop);

/// What run_jobs would do if every job took its estimate; `jobs` must outlive it.
struct JobsToRun {
  std::vector<const Job*> fit;  ///< not done, in order
  std::size_t left_out = 0;     ///< not done; the budget has no room
};
JobsToRun jobs_to_run(const std::vector<Job>& jobs, const cost::Calibration& calibration,
                      std::optional<core::Seconds> budget);

/// Sum of the estimates of all jobs that are not done.
core::Seconds time_left(const std::vector<Job>& jobs, const cost::Calibration& calibration);

}  // namespace penstock::calibrate
