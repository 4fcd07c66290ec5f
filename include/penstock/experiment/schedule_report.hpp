#pragma once
// A timed schedule, for people and for scripts.

#include <string>

#include "penstock/schedule/schedule.hpp"
#include "penstock/schedule/weight_versions.hpp"
#include "penstock/sim/schedule_times.hpp"

namespace penstock::experiment {

/// How to show times: as counts of unit steps, or with units.
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
/// One line; empty where a flush makes it trivial.
std::string weights_line(const schedule::WeightPolicy& policy, const schedule::WeightVersions& weights);

}  // namespace penstock::experiment
