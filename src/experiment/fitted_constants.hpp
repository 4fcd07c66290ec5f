#pragma once
// Constants that no data sheet states, fitted on chosen runs and tested on the others.

#include <functional>
#include <vector>

#include "stated_run.hpp"

namespace penstock::experiment {

/// Fits one constant of time for each set on each cluster (`PublishedComparison::time`). Calls `predicted` after each
/// prediction of a run that no constant is fitted on.
FittedRung fit_times(const std::vector<const StatedRun*>& runs, core::StopToken stop,
                     const std::function<void()>& predicted);

/// Memory that devices hold in addition to their plans, by set and cluster. It is the median of measured
/// minus predicted memory of the chosen runs, to a hundredth of a GiB. Times are as stated.
FittedRung fit_memory(const std::vector<report::PublishedPrediction>& as_stated);

}  // namespace penstock::experiment
