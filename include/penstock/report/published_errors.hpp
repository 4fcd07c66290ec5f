#pragma once
// Errors of predictions for runs that others measured.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/report/published_runs.hpp"
#include "penstock/report/table.hpp"

namespace penstock::report {

struct PublishedPrediction {
  const PublishedRun* run = nullptr;
  double seconds = 0;  ///< seconds per iteration
  double gib = 0;      ///< peak of the fullest device
};

/// Errors of one set of measured runs: predicted / measured - 1.
struct PublishedErrors {
  std::string set;
  std::size_t runs = 0;
  double mean = 0, median = 0, p90 = 0, worst = 0;  ///< of the absolute error
  double bias = 0;                                  ///< mean of the signed error
  /// Means over groups of runs that differ only in how they are divided. tau: whether predictions rank them
  /// like measurements (core::kendall_tau). regret: how much longer the run predicted to be fastest takes
  /// than the group's fastest. Nothing if no group has two runs.
  std::optional<double> tau, regret;
  std::size_t memory_runs = 0;   ///< runs with measured memory
  std::optional<double> memory;  ///< mean absolute error
};

/// Errors by set, in order of appearance.
std::vector<PublishedErrors> published_errors(std::span<const PublishedPrediction> predictions);
/// Table with one row per set.
std::string published_errors_table(const std::vector<PublishedErrors>& errors, const ScreenLimits& screen);
/// Predictions by the costs they use, which become the column `costs`; CSV for programs.
using Rungs = std::vector<std::pair<std::string, std::span<const PublishedPrediction>>>;
std::string published_errors_csv(const Rungs& rungs);  ///< a row per set
std::string predictions_csv(const Rungs& rungs);       ///< a row per run; no error without a measurement

}  // namespace penstock::report
