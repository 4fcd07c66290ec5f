#pragma once
// Runs a whole experiment: its cells in parallel, in one process or several, and its results folder.

#include <exception>
#include <functional>

#include "penstock/experiment/cell.hpp"

namespace penstock::experiment {

/// Called for each finished cell, one call at a time; `cached`: it was found, not run by this process.
using Progress =
    std::function<void(std::size_t done, std::size_t total, const report::CellResult& row, bool cached)>;

/// Exit code if a results folder holds results of another experiment, which are not overwritten.
inline constexpr core::ExitCode kOccupied{12};

struct RunOptions {
  std::string folder;  ///< results folder
  report::Provenance provenance;
  Progress progress;
  std::string cache{};    ///< folder of finished cells; default: `folder`/.cache
  std::string program{};  ///< identity of this build: cached cells of other builds are not used
  bool leader = true;     ///< whether this process writes the results of the cells that processes share
  /// Items such as "model=mmt,devices=8": only matching cells are run; others come from the cache or are left
  /// out. Default: all cells.
  std::vector<std::string> only{};
  /// This process starts the cell; called from any thread.
  std::function<void(const report::CellResult& row)> began{};
  bool again = true;  ///< run cached rows again if they are not lasting
  std::string job{};  ///< common name of these processes; empty: the others do not wait for the leader

  std::string cache_folder() const { return cache.empty() ? folder + "/.cache" : cache; }
};

struct RunOutcome {
  std::vector<report::CellResult> rows;  ///< finished cells, in the order of the file
  bool interrupted = false;
  bool led = false;         ///< this process wrote the results
  std::size_t removed = 0;  ///< number of cells of earlier runs whose files were in the folder
  std::string claims{};     ///< table of judged claims; empty without claims, or if rows are missing
  /// Error of the first cell, in the order of the file, that failed by an error in its input or an internal
  /// error (CellOutcome::error) in this process.
  std::exception_ptr error{};
};

/// Runs every cell that the cache lacks (in parallel; with a memory limit one after the other) and stores it
/// there. Processes with the same cache run each cell once: a process takes the next cell that no other has.
/// The leader waits for all of them, and takes over the cells of processes that died. A failed cell is a row
/// with its reason (try_cell); cells that ended a process come last. Each input is read once (Spec::inputs).
/// Rows that are not lasting are run again by the next run.
///
/// The leader writes into the folder: experiment.json (name and summary), and for each finished cell cells/
/// (resolved configurations), plans/, traces/ (Perfetto) and timelines/ (SVG). Then it writes results.csv,
/// results.json, table.txt, timings.csv and provenance.json for the finished cells, also after an
/// interruption. If all cells are there, it writes claims.csv and claims.json, provided the file has claims.
/// Files appear whole or not at all; files of cells that are no longer among the rows are removed.
///
/// All files except timings.csv, provenance.json and claims about timings.csv are byte-identical for any
/// number of threads and processes, and after any caching, interruption or kill. Exception: a limit on time
/// or memory was hit. Throws BadInput if a file cannot be written, or if another leader writes into the
/// folder; core::Error with kOccupied if it has another experiment's results. If the leader dies, another
/// process of the same job replaces it.
RunOutcome run(const Spec& spec, const RunOptions& options, core::StopToken stop);

}  // namespace penstock::experiment
