#pragma once
// Agreement of simulation and measurement in a table of replays.

#include <span>

#include "penstock/report/replay_rows.hpp"

namespace penstock::report {

struct ValidationAgreement {
  std::int64_t plans = 0, noisy = 0;
  trace::PredictionAccuracy time, peak;
  double tau = 0;  ///< Kendall's tau of iteration times; NaN if there is no ranking
};
ValidationAgreement agreement(std::span<const ReplayRow> rows);

}  // namespace penstock::report
