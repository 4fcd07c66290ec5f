#pragma once
// What a run would do.

#include <optional>
#include <string>
#include <vector>

#include "penstock/experiment/run.hpp"

namespace penstock::experiment {

struct Forecast {
  std::string cell;               ///< cell_name
  std::string status;             ///< of the row in the cache; empty: there is none
  bool run = true;                ///< there is none, or it is tried again (lasting)
  std::optional<double> seconds;  ///< time of its last run with this cache, by any program
};

/// One per cell that is to be run, in the order of the file. Writes nothing.
std::vector<Forecast> forecast(const Spec& spec, const RunOptions& options);

}  // namespace penstock::experiment
