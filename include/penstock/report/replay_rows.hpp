#pragma once
// Replayed plans as a table of data: what was measured, what was simulated, how far apart they are.

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

/// An iteration time known no better than this share of itself is called noisy: what the simulation is off by
/// says little then.
inline constexpr double kNoisy = 0.05;

/// One plan. All texts may be empty.
struct ReplayRow {
  std::string plan;  ///< name of its file
  std::string model;
  std::int64_t devices = 0;
  std::string planner, schedule;
  std::int64_t stages = 0, mini_batch = 0;  ///< mini-batch in samples
  core::Interval measured;                  ///< s, of the iteration over its repeats
  std::int64_t iterations = 0;              ///< repeats
  double simulated_s = 0;
  trace::Pair peak;         ///< bytes, of the fullest device
  trace::Pair exposed;      ///< s of communication that nothing hides, mean over devices
  std::string manner;       ///< "concurrent" or "sequential"
  double load = 0;          ///< one-minute average when it began
  std::string date;         ///< ISO 8601
  std::string fingerprint;  ///< of all that the numbers depend on: a row of another one is out of date

  double error() const { return trace::Pair{measured.median, simulated_s}.error(); }
  bool noisy() const { return measured.noise() > kNoisy; }
};

struct LeftOut {
  std::string plan, reason;
};

struct ReplayTable {
  std::vector<ReplayRow> rows;
  std::vector<LeftOut> left_out;
  std::vector<std::pair<std::string, std::string>>
      setting;  ///< device, costs and the like; part of the provenance
};

/// Columns start with plan, measured_s, measured_low_s, measured_high_s, simulated_s, error; otherwise as
/// to_csv of CellResults. What was left out has no row.
std::string to_csv(std::span<const ReplayRow> rows);

/// {"provenance": {..., setting}, "results": [...], "left_out": [...], "accuracy": {...}}.
std::string to_json(const ReplayTable& table, const Provenance& provenance);

/// The rows that to_json wrote. Throws BadInput naming file and row.
std::vector<ReplayRow> parse_replay_rows(const std::string& text, const std::string& file);

/// Table for people: a line per plan, then mean and worst error of time and memory, noisy plans told apart,
/// and Kendall's tau of the ranking over all plans and over those of one (model, devices).
std::string replay_table(const ReplayTable& table, const Screen& screen = {});

}  // namespace penstock::report
