#pragma once
// Results as tables of data: one row per experiment cell, with the birth certificate of the numbers.

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

/// One row. What a cell could not produce (no plan, not simulated) has no value: empty in CSV, null in JSON.
struct CellResult {
  std::string model;
  std::string cluster;
  std::int64_t devices = 0;
  std::string planner;
  std::int64_t mini_batch = 0;                    ///< samples per iteration
  std::optional<std::string> strategy;            ///< the plan in one line (plan::in_words)
  std::optional<std::int64_t> pipeline_parallel;  ///< as plan::Strategy has them, all to `schedule`
  std::optional<plan::Extent> data_parallel;
  std::optional<plan::Extent> tensor_parallel;
  std::optional<plan::Extent> zero;
  std::optional<std::int64_t> recompute;    ///< stages that do
  std::optional<plan::Extent> micro_batch;  ///< samples that a replica takes at a time
  std::optional<std::int64_t> stages;       ///< number of stages
  std::optional<std::int64_t> depth;        ///< stages on the longest path
  std::optional<std::string> schedule;
  std::optional<double> estimate_s;               ///< iteration time the planner expects
  std::optional<double> iteration_s;              ///< iteration time of the trace
  std::optional<double> estimate_error;           ///< estimate_s / iteration_s - 1: above 0 expected too long
  std::optional<double> lower_bound_s;            ///< no plan of its family is faster (score::bound_for)
  std::optional<double> gap;                      ///< iteration_s / lower_bound_s - 1
  std::optional<double> samples_per_s;            ///< mini_batch / iteration_s
  std::optional<double> tokens_per_s;             ///< of models with attention (graph::tokens)
  std::optional<double> tflops_per_device;        ///< model TFLOP/s of a device, in the mean over devices
  std::optional<double> mfu;                      ///< model FLOPs utilisation (cost::Utilisation), 0 to 1
  std::optional<double> bubble;                   ///< idle share of compute, 0 to 1
  std::optional<std::int64_t> peak_memory_bytes;  ///< of the fullest device
  std::optional<double> search_s;      ///< wall time of the planner, its judging of candidates included, also
                                       ///< where it found nothing; cells run side by side share the cores
  std::optional<double> judging_s;     ///< part of it spent on simulating candidates, summed over threads
  std::optional<std::int64_t> states;  ///< table rows the planner computed
  std::optional<std::int64_t>
      search_memory_bytes;  ///< growth of the process's resident memory during the search, at its
                            ///< peak; only where searches run one after the other
  std::string costs;   ///< of operators: "analytic", "profile of ...", "calibration of ...", which may be
                       ///< "..., foreign to ..."
  std::string status;  ///< "ok", "timed out: ...", "memory full: ...", "infeasible: ...", "limit: ...", "bad
                       ///< input: ...", "internal: ..."
  std::string setting{};   ///< "optimizer=adam network=fifo": further axes of an experiment
  std::string date{};      ///< of the search, ISO 8601, where cells of an experiment come from several runs
  std::string hardware{};  ///< machine of the search, likewise
  std::optional<double> ratio{};  ///< samples_per_s over the baseline's on the same problem (add_ratios)
};

/// Model, cluster, devices, planner, mini-batch, setting: what tells the rows of an experiment apart.
using About = std::tuple<std::string, std::string, std::int64_t, std::string, std::int64_t, std::string>;
About about(const CellResult& row);

/// Which columns a table has, besides those that say which problem and planner a row is about.
struct Columns {
  bool axes = false;     ///< setting
  bool results = true;   ///< what the same inputs always give
  bool measured = true;  ///< what depends on machine and day: search_s, judging_s, search_memory_bytes
  bool origin = false;   ///< date, hardware
  bool ratio = false;    ///< ratio, which files of `penstock run` lack
};

/// How the numbers came to be; filled by the caller, for a report reads no clock and no environment.
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

/// Header, then one line per row. Quoting after RFC 4180 (Shafranovich, 2005); differs in ending lines with
/// LF alone, so that results read well in a diff. Numbers take the fewest digits that read back equal.
std::string to_csv(std::span<const CellResult> rows, const Columns& columns = {});

/// {"provenance": {...}, "results": [...]}, same field names and order as the CSV.
std::string to_json(std::span<const CellResult> rows, const Provenance& provenance,
                    const Columns& columns = {});
/// {"results": [...]}: the provenance stands elsewhere.
std::string rows_json(std::span<const CellResult> rows, const Columns& columns);
std::string to_json(const Provenance& provenance);

/// One row with all columns as one line of JSON; a number that is not finite is left out.
std::string to_record(const CellResult& row);
/// Reads it. Throws BadInput for text that is no row.
CellResult parse_record(const std::string& text);

struct Results {
  std::vector<CellResult> rows;
  Provenance provenance;
  std::string baseline{};  ///< planner that ratios divide by; empty: rows have no ratio
};

/// Reads what to_json or rows_json wrote, which leaves the provenance empty. Of a row's columns only those
/// that say what it is about must be there: files of other versions, and other columns, are read too. Throws
/// BadInput naming the file and the row or key.
Results parse_results(const std::string& text, const std::string& file);
/// Reads to_json's text of a provenance. Throws BadInput likewise.
Provenance parse_provenance(const std::string& text, const std::string& file);

/// Gives the rows the columns that to_csv's text has; its lines about none of the rows are passed over.
/// Throws BadInput naming file, line and column.
void add_columns(std::vector<CellResult>& rows, const std::string& csv, const std::string& file);

/// Every column as text, numbers in the fewest digits that read back equal. Each of the further axes in
/// `setting` is a column of its own, and what it says goes before a result of that name. `ratio`: with the
/// column of that name.
Rows to_rows(std::span<const CellResult> rows, bool ratio = false);

}  // namespace penstock::report
