#pragma once
// A timed pipeline schedule, of a family or a schedule file, without a model or a cluster.

#include <optional>
#include <string>

#include "penstock/experiment/schedule_report.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/pass_costs.hpp"

namespace penstock::experiment {

/// Input of timed_schedule. Times are those of a full stage: unit steps as "1.5", or with a unit as "18ms".
/// "": equal to the time before it; zero for latency and step.
struct ScheduleRequest {
  std::string name;  ///< family, or schedule file (.csv)
  /// 0: default of the family, or value of the file.
  schedule::ScheduleShape shape{0, 0, 0, 0, {}, {}, 1, 1};
  std::string forward, input_gradient, weight_gradient, recompute, step, latency;
  bool lower = false;                 ///< lower to what a runtime executes
  std::optional<std::string> text{};  ///< text of a schedule file; `name` then only names it in messages
};

struct TimedSchedule {
  schedule::Schedule schedule;
  schedule::PassCosts costs;  ///< costs of a chunk
  sim::ScheduleTimes times;
  TimeStyle style;
  const schedule::WeightPolicy& policy;
  schedule::WeightVersions weights;
};

/// Throws BadInput for times and shapes that contradict each other, and an invalid-plan error for a file's
/// schedule that breaks rules. Throws Infeasible if a rank holds more than the limit allows.
TimedSchedule timed_schedule(const ScheduleRequest& asked);

/// Returns its timeline with that heading.
std::string timeline_svg(const TimedSchedule& timed, const std::string& title);

}  // namespace penstock::experiment
