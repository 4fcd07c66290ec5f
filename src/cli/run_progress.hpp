#pragma once
// How far an experiment is.

#include "penstock/experiment/run.hpp"

namespace penstock::cli {

/// On standard error: a bar that redraws itself, with the time left, on a terminal; a line per cell
/// elsewhere.
experiment::Progress run_progress();

}  // namespace penstock::cli
