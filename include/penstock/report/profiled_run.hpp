#pragma once
// A profiled iteration beside its simulation: table, JSON and picture.

#include <string>
#include <vector>

#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"
#include "penstock/trace/profiled_run.hpp"

namespace penstock::report {

/// A step from the simulated iteration time to the measured one.
struct IterationCause {
  std::string what;
  core::Seconds time;  ///< added by this cause; negative if it saves time
};

/// A profiled iteration of a plan, compared.
struct ProfiledPlan {
  std::string plan;  ///< name of its file
  trace::ProfiledRun run;
  trace::TraceComparison comparison;
  std::vector<IterationCause>
      causes;  ///< they add up to measured minus simulated; empty if ranks are missing
};

/// Table for people: the iteration, causes of the difference, every rank, tasks by kind, notes.
std::string profiled_table(const ProfiledPlan& found, const ScreenLimits& screen = {});

/// JSON {"provenance", "plan", "step" (null without), "iteration_s", "causes", "ranks", "kinds", "notes"}. A pair is
/// {"measured", "simulated", "error"}; times are seconds.
std::string profiled_json(const ProfiledPlan& found, const Provenance& provenance);

/// One picture with two lanes per recorded rank on one axis of time: measured above simulated.
std::string profiled_svg(const ProfiledPlan& found);

}  // namespace penstock::report
