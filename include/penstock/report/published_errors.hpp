#pragma once
// How far predictions are from runs that others measured.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/report/published_runs.hpp"
#include "penstock/report/table.hpp"

namespace penstock::report {

struct PublishedPrediction {
  const PublishedRun* run = nullptr;
  double seconds = 0;  ///< of an iteration
  double gib = 0;      ///< peak of the fullest device
};

/// Errors of one set of measured runs: predicted over measured less one.
struct PublishedErrors {
  std::string set;
  std::size_t runs = 0;
  double mean = 0, median = 0, p90 = 0, worst = 0;  ///< of the error's size
  double bias = 0;                                  ///< mean of the error itself
  /// Mean over groups of runs that differ in how they are divided alone: whether the predictions rank them as
  /// the measurements do (core::kendall_tau), and how much longer than the group's fastest run the one takes
  /// that is predicted to be fastest. Nothing where no group has two runs.
  std::optional<double> tau, regret;
  std::size_t memory_runs = 0;   ///< runs with measured memory
  std::optional<double> memory;  ///< mean of the error's size
};

/// Set by set, in order of appearance.
std::vector<PublishedErrors> published_errors(std::span<const PublishedPrediction> predictions);
/// One row per set.
std::string published_errors_table(const std::vector<PublishedErrors>& errors, const Screen& screen);
/// CSV for programs. Predictions by the costs they stand on, which is the column `costs`.
using Rungs = std::vector<std::pair<std::string, std::span<const PublishedPrediction>>>;
std::string published_errors_csv(const Rungs& rungs);  ///< a row per set
std::string predictions_csv(const Rungs& rungs);       ///< a row per run; no error where nobody measured it

}  // namespace penstock::report
