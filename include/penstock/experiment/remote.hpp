#pragma once
// One run on many machines. The leader sends its cells to workers; they run them, and the leader stores their
// results, from which run() writes files as for its own cells. Only texts are sent; no shared folder is
// needed.

#include <map>

#include "penstock/experiment/run.hpp"

namespace penstock::experiment {

/// A cell as sent to another process.
struct RemoteCell {
  std::size_t cell = 0;  ///< index into Spec::cells
  std::string name;      ///< cell_name
  std::string key;  ///< leader's digest of everything that the result depends on: program, inputs, settings
  std::string model, cluster;  ///< as the file of its plan names them
  /// Planners, as planners::written, whose answers its planner `joint` starts from (JointQuestions); each may
  /// be a separate task. Empty if a limit on time or memory applies to the whole cell.
  std::vector<std::string> first, then;
};

/// Cells that run() would run and that any machine can run; cells with a schedule file stay with the leader.
/// Throws BadInput, and core::Error with kOccupied, as run() does at its start.
std::vector<RemoteCell> remote_cells(const Spec& spec, const RunOptions& options);

/// Planner to its answer.
using Answers = std::map<std::string, std::string>;

/// Returns the answer of one of the cell's planners, or the reason why there is none; planners of `then` are
/// faster if the answers of `first` are given. Throws like run_remote.
std::string run_start(const Spec& spec, const RemoteCell& cell, const std::string& planner,
                      const Answers& answers, const RunOptions& options, core::StopToken stop);

struct RemoteEntry {
  std::string text;            ///< for take_in
  std::exception_ptr error{};  ///< CellOutcome::error
};
/// Runs the cell with the answers of its planners so far. The result is equal with and without them, except
/// for times. Reads only program and provenance from the options. Throws InterruptedError; BadInput if this
/// process has another build than the leader or reads other inputs, so that results are never mixed.
RemoteEntry run_remote(const Spec& spec, const RemoteCell& cell, const Answers& answers,
                       const RunOptions& options, core::StopToken stop);

/// Stores the result of run_remote in the cache of options.cache_folder(), and returns its row. A cell that
/// ran out of memory is not stored: run() tries it once more. Throws BadInput for text that is damaged or
/// belongs to another cell.
report::CellResult take_in(const RunOptions& options, const RemoteCell& cell, const std::string& text);

}  // namespace penstock::experiment
