#pragma once
// The files of an experiment.

#include <span>
#include <string>

#include "entry.hpp"
#include "penstock/core/file_lock.hpp"

namespace penstock::experiment {

/// report::to_json with what the experiment's file says, where it does: what the experiment is about under
/// "summary", the planner that ratios divide by under "baseline".
std::string provenance_json(const report::Provenance& provenance, const std::string& summary,
                            const std::string& baseline = "");

/// One process at a time, the leader, writes into the folder; what an earlier one left half written goes.
class ResultsFolder {
 public:
  /// Throws BadInput while another process has the folder, and as own does. `job` names the processes that
  /// run together, for await_leader.
  ResultsFolder(std::string folder, const Spec& spec, std::string job);

  /// cells/ (the resolved configuration), and with a plan plans/, traces/ and timelines/.
  void write_cell(const std::string& name, const std::string& resolved, const Entry& entry) const;

  /// What the same inputs always give: results.csv, results.json, table.txt. What was measured, when and on
  /// what: timings.csv. Who wrote all that: provenance.json, a text of provenance_json.
  void write_tables(std::span<const report::CellResult> rows, const std::string& baseline,
                    const std::string& provenance) const;

  /// Takes away all files of cells that earlier runs wrote and that are none of `names`. How many cells.
  std::size_t remove_others(std::span<const std::string> names) const;

  /// Tells the processes beside this one that all is written.
  void finished() const;

 private:
  void remove_plan(const std::string& name) const;
  void remove(const std::string& file) const;
  void tell(const char* state) const;
  std::string folder_, job_;
  core::FileLock lock_;
};

/// Waits for the leader of the job. Whether its results are in the folder, or the wait was stopped; false
/// when it has died, or has not begun for half a minute.
bool await_leader(const std::string& folder, const std::string& job, core::StopToken stop);

}  // namespace penstock::experiment
