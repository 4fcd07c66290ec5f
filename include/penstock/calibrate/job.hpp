#pragma once
// Runs measurements one by one, within a budget, and saves them on the way.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/calibration.hpp"

namespace penstock::calibrate {

/// One measurement, and how to store it.
struct CalibrationJob {
  std::string name;                                    ///< such as "linear fc1 x 8"
  core::Seconds estimate;                              ///< of the time it takes
  bool essential = false;                              ///< done for any budget
  std::function<bool(const cost::Calibration&)> done;  ///< whether the calibration has the result
  std::function<void(cost::Calibration&)> run;         ///< stores the result, or throws and changes nothing
};

struct JobProgress {
  std::string name;  ///< of the job that is over
  std::size_t done = 0, all = 0;
  core::Seconds left;  ///< estimates of the jobs to come, scaled by the ratio of time to estimate so far
};

struct JobOutcome {
  std::size_t measured = 0;
  std::size_t known = 0;                ///< measured before
  std::vector<std::string> unmeasured;  ///< names of jobs without room in the budget
  std::vector<std::string> refused;     ///< "name: why" if the device has no kernel or no room
  bool interrupted = false;
};

/// Callbacks to the owner of the jobs.
struct JobCallbacks {
  std::function<core::Seconds()> now;                  ///< a clock that only goes forward
  std::function<void(const cost::Calibration&)> save;  ///< every few seconds, and at the end
  std::function<void(const JobProgress&)> progress;    ///< after each job
};

/// Runs the jobs in order. A job that exceeds the rest of the budget is passed over, because a smaller one
/// may fit. BadInput of a job is noted, InterruptedError ends the loop; all measurements are saved in both cases.
JobOutcome run_jobs(const std::vector<CalibrationJob>& jobs, cost::Calibration& calibration,
                    std::optional<core::Seconds> budget, const JobCallbacks& watch, core::StopToken stop);

/// The jobs that run_jobs would run if every job took its estimate; `jobs` must outlive it.
struct JobsToRun {
  std::vector<const CalibrationJob*> fit;  ///< not done, in order
  std::size_t left_out = 0;                ///< not done; the budget has no room
};
JobsToRun jobs_to_run(const std::vector<CalibrationJob>& jobs, const cost::Calibration& calibration,
                      std::optional<core::Seconds> budget);

/// Sum of the estimates of all jobs that are not done.
core::Seconds time_left(const std::vector<CalibrationJob>& jobs, const cost::Calibration& calibration);

}  // namespace penstock::calibrate
