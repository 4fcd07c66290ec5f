#pragma once
// An experiment about schedules: families on pipelines of equal stages, without a model or a cluster.

#include <string>
#include <vector>

#include "penstock/experiment/run.hpp"
#include "penstock/report/lines.hpp"
#include "penstock/schedule/catalogue.hpp"

namespace penstock::experiment {

/// One family on one pipeline.
struct ScheduleCell {
  std::string schedule;  ///< family with its options: "interleaved_1f1b:chunks=3"
  std::string family;
  std::string pipeline;  ///< name in the file
  schedule::ScheduleShape shape;
  schedule::PassCosts full_stage;
};

struct ScheduleStudy {
  std::string name;
  std::string summary;
  std::vector<ScheduleCell> cells;  ///< sorted by pipeline, ranks, micro-batches, schedule
  std::vector<report::Claim> claims;
};

/// True if the text of an experiment file has `pipelines`. Throws BadInput if it is not YAML; `path` names
/// it.
bool is_schedule_study(const std::string& text, const std::string& path);

/// Loads a study (format: docs/formats/experiment.md). Throws BadInput with file, line and key.
ScheduleStudy load_schedule_study(const std::string& path, const Overrides& overrides = {});
/// Parses a study from text; `path` names it in messages.
ScheduleStudy parse_schedule_study(const std::string& text, const std::string& path,
                                   const Overrides& overrides = {});

/// One row per cell: schedule, pipeline, ranks, micro_batches, chunks; makespan_s, span_s (of the longest
/// rank), bubble (its idle share), bubble_s. Then peak_live (full-stage activations of the fullest rank),
/// weight_versions (maximum on a rank) and status: "ok", or the reason why the family does not support the
/// cell.
report::TextRows run_cells(const ScheduleStudy& study);

/// Runs all cells and writes results.csv, results.json, provenance.json, table.txt, claims.csv and
/// claims.json into the folder. Returns the tables for a screen.
std::string run(const ScheduleStudy& study, const std::string& folder, const report::Provenance& provenance,
                const report::ScreenLimits& screen = {});

}  // namespace penstock::experiment
