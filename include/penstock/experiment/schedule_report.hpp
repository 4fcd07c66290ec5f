#pragma once
// Reports of a timed schedule, as text and JSON.

#include <string>

#include "penstock/schedule/schedule.hpp"
#include "penstock/schedule/weight_versions.hpp"
#include "penstock/sim/schedule_times.hpp"

namespace penstock::experiment {

/// Format of times: as numbers of unit steps, or with units.
struct TimeStyle {
  bool steps = true;
  double number(core::Picoseconds time) const;  ///< steps, or seconds
  std::string text(core::Picoseconds time) const;
};

/// One line of characters per rank, time from left to right, at most about `columns` wide.
std::string schedule_timeline(const schedule::Schedule& schedule, const sim::ScheduleTimes& result,
                              std::size_t columns);
std::string schedule_summary(const schedule::Schedule& schedule, const sim::ScheduleTimes& result,
                             const TimeStyle& style);
std::string schedule_json(const schedule::Schedule& schedule, const sim::ScheduleTimes& result,
                          const TimeStyle& style, const schedule::WeightVersions& weights);
/// One line; empty with a flush, where weights are trivial.
std::string weights_line(const schedule::WeightPolicy& policy, const schedule::WeightVersions& weights);

}  // namespace penstock::experiment
