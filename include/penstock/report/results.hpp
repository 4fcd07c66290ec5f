#pragma once
// Results as tables of data: one row per experiment cell, with provenance.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "penstock/plan/strategy.hpp"
#include "penstock/report/rows.hpp"

namespace penstock::report {

/// One row. Values that a cell could not produce (no plan, no simulation) are missing: empty in CSV, null in
/// JSON.
struct CellResult {
  std::string model;
  std::string cluster;
  std::int64_t devices = 0;
  std::string planner;
  std::int64_t mini_batch = 0;                    ///< samples per iteration
  std::optional<std::string> strategy;            ///< the plan in one line (plan::in_words)
  std::optional<std::int64_t> pipeline_parallel;  ///< as in plan::Strategy, up to `schedule`
  std::optional<plan::ValueRange> data_parallel;
  std::optional<plan::ValueRange> tensor_parallel;
  std::optional<plan::ValueRange> zero;
  std::optional<std::int64_t> recompute;        ///< stages that recompute
  std::optional<plan::ValueRange> micro_batch;  ///< samples per replica at a time
  std::optional<std::int64_t> stages;           ///< number of stages
  std::optional<std::int64_t> depth;            ///< stages on the longest path
  std::optional<std::string> schedule;
  std::optional<double> estimate_s;         ///< iteration time that the planner estimates
  std::optional<double> iteration_s;        ///< iteration time of the trace
  std::optional<double> estimate_error;     ///< estimate_s / iteration_s - 1: above 0 if estimated too long
  std::optional<double> lower_bound_s;      ///< lower bound for its family (score::bound_for)
  std::optional<double> gap;                ///< iteration_s / lower_bound_s - 1
  std::optional<double> samples_per_s;      ///< mini_batch / iteration_s
  std::optional<double> tokens_per_s;       ///< for models with attention (graph::tokens)
  std::optional<double> tflops_per_device;  ///< mean model TFLOP/s per device
  std::optional<double> mfu;                ///< model FLOPs utilisation (cost::Utilisation), 0 to 1
  std::optional<double> bubble;             ///< idle share of compute, 0 to 1
  std::optional<std::int64_t> peak_memory_bytes;  ///< of the fullest device
  /// Wall time of the planner including evaluations, also if it found nothing; cells in parallel share the
  /// cores.
  std::optional<double> search_s;
  std::optional<double> judging_s;     ///< part of it spent on evaluations, summed over threads
  std::optional<std::int64_t> states;  ///< table rows the planner computed
  /// Peak growth of the process's resident memory during the search; only if searches run one after the
  /// other.
  std::optional<std::int64_t> search_memory_bytes;
  /// Origin of operator times: "analytic", "profile of ...", "calibration of ...", possibly "..., foreign to
  /// ...".
  std::string costs;
  /// "ok", "timed out: ...", "memory full: ...", "infeasible: ...", "limit: ...", "bad input: ...",
  /// "internal: ..."
  std::string status;
  std::string setting{};   ///< "optimizer=adam network=fifo": further axes of an experiment
  std::string date{};      ///< date of the search, ISO 8601, if cells of an experiment come from several runs
  std::string hardware{};  ///< machine of the search, in the same case
  std::optional<double> ratio{};  ///< samples_per_s over the baseline's on the same problem (add_ratios)
};

/// Model, cluster, devices, planner, mini-batch, setting: the values that identify a row of an experiment.
using About = std::tuple<std::string, std::string, std::int64_t, std::string, std::int64_t, std::string>;
About about(const CellResult& row);

/// Columns of a table, in addition to those that identify a row.
struct ColumnGroups {
  bool axes = false;     ///< setting
  bool results = true;   ///< results that depend only on the inputs
  bool measured = true;  ///< measurements: search_s, judging_s, search_memory_bytes
  bool origin = false;   ///< date, hardware
  bool ratio = false;    ///< ratio, which files of `penstock run` do not have
};

/// Origin of the numbers. The caller fills it in, because a report reads no clock and no environment.
struct Provenance {
  std::string version;  ///< of Penstock
  std::string commit;
  bool dirty = false;   ///< the sources differed from the commit
  std::string command;  ///< the command line
  std::string date;     ///< ISO 8601
  std::string hardware;
  std::string compiler;
  std::map<std::string, std::string> libraries;  ///< name -> version
  std::uint64_t seed = 0;
};

/// Header, then one line per row. Quoting as in RFC 4180 (Shafranovich, 2005). Differs: lines end with LF
/// only, so that diffs of results are readable. Numbers have the fewest digits that read back equal.
std::string to_csv(std::span<const CellResult> rows, const ColumnGroups& columns = {});

/// JSON {"provenance": {...}, "results": [...]}, with the field names and order of the CSV.
std::string to_json(std::span<const CellResult> rows, const Provenance& provenance,
                    const ColumnGroups& columns = {});
/// JSON {"results": [...]}, without the provenance.
std::string rows_json(std::span<const CellResult> rows, const ColumnGroups& columns);
std::string to_json(const Provenance& provenance);

/// One row with all columns as one line of JSON; a number that is not finite is left out.
std::string to_record(const CellResult& row);
/// Parses to_record's text. Throws BadInput for other text.
CellResult parse_record(const std::string& text);

struct ResultSet {
  std::vector<CellResult> rows;
  Provenance provenance;
  std::string baseline{};  ///< planner that ratios divide by; empty: rows have no ratio
};

/// Parses the text of to_json or rows_json; the latter leaves the provenance empty. Only the columns that
/// identify a row are required, so that files of other versions and with other columns are read, too. Throws
/// BadInput naming the file and the row or key.
ResultSet parse_results(const std::string& text, const std::string& file);
/// Parses to_json's text of a provenance. Throws BadInput like parse_results.
Provenance parse_provenance(const std::string& text, const std::string& file);

/// Adds the columns of to_csv's text to the rows; lines about other rows are ignored. Throws BadInput naming
/// file, line and column.
void add_columns(std::vector<CellResult>& rows, const std::string& csv, const std::string& file);

/// Every column as text, numbers in the fewest digits that read back equal. Each of the further axes in
/// `setting` becomes a column, which replaces a result of that name. `ratio`: include that column.
TextRows to_rows(std::span<const CellResult> rows, bool ratio = false);

}  // namespace penstock::report
