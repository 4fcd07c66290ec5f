#pragma once
// Constants that no data sheet states, fitted on chosen runs and judged by the others.

#include <functional>
#include <vector>

#include "stated_run.hpp"

namespace penstock::experiment {

/// One constant of time for each set on each cluster (`Against::time`). `predicted` is told of each
/// prediction of a run that none stands on.
FittedRung fit_times(const std::vector<const StatedRun*>& runs, core::StopToken stop,
                     const std::function<void()>& predicted);

/// What devices hold beside their plans, by set and cluster: the median of what the chosen runs were measured
/// to, to a hundredth of a GiB. Times are as stated.
FittedRung fit_memory(const std::vector<report::PublishedPrediction>& as_stated);

}  // namespace penstock::experiment
