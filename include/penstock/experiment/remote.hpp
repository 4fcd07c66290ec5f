#pragma once
// One run on many machines: who leads it tells others of its cells, they run them, it takes in what they
// found, and run() makes results of it as of cells that it has run itself. What travels are texts; no folder
// need be shared.

#include <map>

#include "penstock/experiment/run.hpp"

namespace penstock::experiment {

/// A cell as another process is told of it.
struct RemoteCell {
  std::size_t cell = 0;  ///< of Spec::cells
  std::string name;      ///< cell_name
  std::string
      key;  ///< digest of all that its result depends on, as the leader has it: program, inputs, settings
  std::string model, cluster;  ///< as its plan's file names them
  /// Planners, as planners::written, whose answers its planner `joint` begins with (JointQuestions); each may
  /// be a task of its own. None where a limit on time or memory counts for the whole cell.
  std::vector<std::string> first, then;
};

/// The cells that run() would run and that any machine can: a schedule's own file stays with the leader.
/// Throws BadInput, and core::Error with kOccupied, as run() does before it begins.
std::vector<RemoteCell> remote_cells(const Spec& spec, const RunOptions& options);

/// Planner to its answer.
using Answers = std::map<std::string, std::string>;

/// The answer of one of the cell's planners, or why there is none; of `then` the sooner where the answers of
/// `first` are there. Throws as run_remote.
std::string run_start(const Spec& spec, const RemoteCell& cell, const std::string& planner,
                      const Answers& answers, const RunOptions& options, core::StopToken stop);

struct RemoteEntry {
  std::string text;            ///< for take_in
  std::exception_ptr error{};  ///< CellOutcome::error
};
/// Runs the cell, with the answers of its planners that are there already; the same bytes with and without
/// them, times apart. Of the options it reads program and provenance. Throws Interrupted; BadInput where this
/// process is of another build than the leader's or reads other inputs: no result of one is then called the
/// other's.
RemoteEntry run_remote(const Spec& spec, const RemoteCell& cell, const Answers& answers,
                       const RunOptions& options, core::StopToken stop);

/// Puts what run_remote found into the cache of options.cache_folder(), and returns its row. A cell that
/// asked for more memory than there was is not kept: run() tries it once more. Throws BadInput for text that
/// is damaged or of another cell.
report::CellResult take_in(const RunOptions& options, const RemoteCell& cell, const std::string& text);

}  // namespace penstock::experiment
