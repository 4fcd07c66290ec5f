#pragma once
// A pipeline schedule on its own, timed: a family's or a schedule file's, without a model or a cluster.

#include <optional>
#include <string>

#include "penstock/experiment/schedule_report.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/pass_costs.hpp"

namespace penstock::experiment {

/// What is asked for. Times are of a full stage: unit steps as "1.5", or with a unit as "18ms"; "": as the
/// time before it, none for latency and step.
struct ScheduleRequest {
  std::string name;                                         ///< a family, or a schedule file (.csv)
  schedule::ScheduleShape shape{0, 0, 0, 0, {}, {}, 1, 1};  ///< 0: as the family or the file has it
  std::string forward, input_gradient, weight_gradient, recompute, step, latency;
  bool lower = false;                 ///< to what a runtime executes
  std::optional<std::string> text{};  ///< of a schedule file; `name` then names it in messages alone
};

struct TimedSchedule {
  schedule::Schedule schedule;
  schedule::PassCosts costs;  ///< of a chunk
  sim::ScheduleTimes times;
  TimeStyle style;
  const schedule::WeightPolicy& policy;
  schedule::WeightVersions weights;
};

/// Throws BadInput for times and shapes that do not go together, an invalid-plan error for a file's schedule
/// that breaks rules, Infeasible where a rank holds more than the limit allows.
TimedSchedule timed_schedule(const ScheduleRequest& asked);

/// Its timeline, under that heading.
std::string timeline_svg(const TimedSchedule& timed, const std::string& title);

}  // namespace penstock::experiment
