#pragma once
// What `schedule` prints about a grid.

#include <string>

#include "penstock/schedule/grid.hpp"
#include "penstock/schedule/weight_versions.hpp"
#include "penstock/sim/grid.hpp"

namespace penstock::cli {

/// How to show times: as counts of unit steps, or with units.
struct TimeStyle {
  bool steps = true;
  double number(core::Picoseconds time) const;  ///< steps, or seconds
  std::string text(core::Picoseconds time) const;
};

/// One line of characters per rank, time from left to right, at most about `columns` wide.
std::string grid_timeline(const schedule::Grid& grid, const sim::GridResult& result, std::size_t columns);
std::string grid_summary(const schedule::Grid& grid, const sim::GridResult& result, const TimeStyle& style);
std::string grid_json(const schedule::Grid& grid, const sim::GridResult& result, const TimeStyle& style,
                      const schedule::WeightVersions& weights);
/// One line; empty where a flush makes it trivial.
std::string weights_line(const schedule::WeightPolicy& policy, const schedule::WeightVersions& weights);

}  // namespace penstock::cli
