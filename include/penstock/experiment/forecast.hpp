#pragma once
// Forecast of a run: the cells that it would run, and their times.

#include <optional>
#include <string>
#include <vector>

#include "penstock/experiment/run.hpp"

namespace penstock::experiment {

struct CellForecast {
  std::string cell;               ///< cell_name
  std::string status;             ///< status of the cached row; empty: there is none
  bool run = true;                ///< true: there is no cached row, or it is run again (lasting)
  std::optional<double> seconds;  ///< time of its last run with this cache, by any version of the program
};

/// Forecast of each cell to be run, in the order of the file. Writes nothing.
std::vector<CellForecast> forecast(const Spec& spec, const RunOptions& options);

}  // namespace penstock::experiment
