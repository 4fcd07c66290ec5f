#pragma once
// Replayed plans as a table of data: measured, simulated, and the difference.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/statistics.hpp"
#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"
#include "penstock/trace/comparison.hpp"

namespace penstock::report {

/// Relative uncertainty of an iteration time above which it is called noisy: the simulation's error then
/// means little.
inline constexpr double kNoisy = 0.05;

/// One replayed plan. All texts may be empty.
struct ReplayRow {
  std::string plan;  ///< name of its file
  std::string model;
  std::int64_t devices = 0;
  std::string planner, schedule;
  std::int64_t stages = 0, mini_batch = 0;  ///< mini_batch: samples
  core::MedianInterval measured;            ///< seconds per iteration, over its repeats
  std::int64_t iterations = 0;              ///< number of repeats
  double simulated_s = 0;
  trace::QuantityPair peak;     ///< bytes, of the fullest device
  trace::QuantityPair exposed;  ///< seconds of exposed communication, mean over devices
  std::string manner;           ///< "concurrent" or "sequential"
  double load = 0;              ///< one-minute load average at the start
  std::string date;             ///< ISO 8601
  /// Digest of everything that the numbers depend on: a row with another one is out of date.
  std::string fingerprint;

  double error() const { return trace::QuantityPair{measured.median, simulated_s}.error(); }
  bool noisy() const { return measured.noise() > kNoisy; }
};

struct LeftOut {
  std::string plan, reason;
};

struct ReplayTable {
  std::vector<ReplayRow> rows;
  std::vector<LeftOut> left_out;
  std::vector<std::pair<std::string, std::string>>
      setting;  ///< device, costs and so on; part of the provenance
};

/// CSV whose columns start with plan, measured_s, measured_low_s, measured_high_s, simulated_s, error;
/// otherwise like to_csv of CellResults. Plans left out have no row.
std::string to_csv(std::span<const ReplayRow> rows);

/// JSON {"provenance": {..., setting}, "results": [...], "left_out": [...], "accuracy": {...}}.
std::string to_json(const ReplayTable& table, const Provenance& provenance);

/// Parses rows that to_json wrote. Throws BadInput naming file and row.
std::vector<ReplayRow> parse_replay_rows(const std::string& text, const std::string& file);

/// Table for people: a line per plan; mean and worst error of time and memory, with noisy plans separated.
/// Also Kendall's tau of the ranking over all plans and within each (model, devices).
std::string replay_table(const ReplayTable& table, const ScreenLimits& screen = {});

}  // namespace penstock::report
