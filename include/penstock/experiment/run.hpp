#pragma once
// A whole experiment: its cells in parallel, its results folder.

#include <functional>

#include "penstock/experiment/cell.hpp"

namespace penstock::experiment {

/// Called, one call at a time, when a cell is done.
using Progress = std::function<void(std::size_t done, std::size_t total, const report::CellResult& row)>;

struct RunOptions {
  std::string folder;  ///< results go here
  report::Provenance provenance;
  Progress progress;
};

struct RunOutcome {
  std::vector<report::CellResult> rows;  ///< of finished cells, in the order of the file
  bool interrupted = false;
  std::string claims;  ///< the table of judged claims; empty without any
};

/// Runs every cell (TBB-parallel) and writes into the folder: plans/, traces/ (Perfetto), timelines/ (SVG) as
/// each cell finishes, then results.csv, results.json and table.txt for the finished ones, also after an
/// interruption; and claims.csv and claims.json where the file has claims. Files appear whole or not at all.
/// The first error other than infeasibility stops the run and is thrown after that.
RunOutcome run(const Spec& spec, const RunOptions& options, core::StopToken stop);

}  // namespace penstock::experiment
