#pragma once
// A whole experiment: its cells in parallel, by one process or several, its results folder.

#include <exception>
#include <functional>

#include "penstock/experiment/cell.hpp"

namespace penstock::experiment {

/// Called, one call at a time, when a cell is done; `cached`: it was found, not run by this process.
using Progress =
    std::function<void(std::size_t done, std::size_t total, const report::CellResult& row, bool cached)>;

/// A results folder holds what would be overwritten and is not ours to overwrite.
inline constexpr core::ExitCode kOccupied{12};

struct RunOptions {
  std::string folder;  ///< results go here
  report::Provenance provenance;
  Progress progress;
  std::string cache{};    ///< folder of finished cells; default: `folder`/.cache
  std::string program{};  ///< which build this is: no other's cells are taken from the cache
  bool leader = true;     ///< of the processes that share the cells, the one that writes the results
  std::vector<std::string> only{};  ///< "model=mmt,devices=8": some cells are run, any of these; others are
                                    ///< taken from the cache, or left out. Default: all are run
  std::function<void(const report::CellResult& row)> began{};  ///< this process runs it now; from any thread
  bool again = true;  ///< rows in the cache that are not lasting are run again
  std::string job{};  ///< names these processes together; empty: the others do not wait for the leader

  std::string cache_folder() const { return cache.empty() ? folder + "/.cache" : cache; }
};

struct RunOutcome {
  std::vector<report::CellResult> rows;  ///< of finished cells, in the order of the file
  bool interrupted = false;
  bool led = false;            ///< this process wrote the results
  std::size_t removed = 0;     ///< cells of earlier runs whose files were in the folder
  std::string claims{};        ///< the table of judged claims; empty without any, and where rows are missing
  std::exception_ptr error{};  ///< of the first cell in the order of the file that failed by a mistake in its
                               ///< input, or by a defect (CellOutcome::error); this process ran it
};

/// Runs every cell that the cache does not have (TBB-parallel; with a memory limit one after the other), and
/// puts it there. Processes with the same cache run each cell once: one takes the next cell that no other is
/// at; the leader waits for them all and takes over the cells of those that died. A cell that fails is a row
/// with its reason (try_cell), and cells that took a process down with them come last. Each input is read
/// once (Spec::inputs). Rows that are not lasting are run again by the next run.
///
/// The leader writes into the folder: experiment.json (name and summary), cells/ (resolved configurations),
/// plans/, traces/ (Perfetto) and timelines/ (SVG) as each cell is done, then results.csv, results.json,
/// table.txt, timings.csv and provenance.json for the finished ones, also after an interruption; and, when
/// all cells are there, claims.csv and claims.json where the file has claims. Files appear whole or not at
/// all; those of cells that are no longer among the rows go. All but timings.csv, provenance.json and claims
/// about what timings.csv holds are the same bytes whatever the number of threads and processes, whatever was
/// cached, interrupted or killed, unless a limit on time or memory was hit. Throws BadInput when a file
/// cannot be written, or another leader writes into the folder; core::Error with kOccupied
/// where another experiment's results are there. When the leader dies, one of the other processes of the same
/// job does its part.
RunOutcome run(const Spec& spec, const RunOptions& options, core::StopToken stop);

}  // namespace penstock::experiment
