#pragma once
// The files of an experiment.

#include <span>
#include <string>

#include "entry.hpp"
#include "penstock/core/file_lock.hpp"

namespace penstock::experiment {

/// report::to_json with fields of the experiment's file, if it has them: "summary", and under "baseline" the
/// planner that ratios divide by.
std::string provenance_json(const report::Provenance& provenance, const std::string& summary,
                            const std::string& baseline = "");

/// One process at a time, the leader, writes into the folder; it removes half-written files of an earlier
/// one.
class ResultsFolder {
 public:
  /// Throws BadInput while another process has the folder, and like `own`. `job` is the common name of
  /// processes that run together, for await_leader.
  ResultsFolder(std::string folder, const Spec& spec, std::string job);

  /// Writes cells/ (the resolved configuration), and with a plan plans/, traces/ and timelines/.
  void write_cell(const std::string& name, const std::string& resolved, const CacheEntry& entry) const;

  /// Writes results.csv, results.json and table.txt, which depend only on the inputs; timings.csv, with
  /// measurements of this run; and provenance.json, a text of provenance_json.
  void write_tables(std::span<const report::CellResult> rows, const std::string& baseline,
                    const std::string& provenance) const;

  /// Removes all files of cells of earlier runs that are not in `names`. Returns the number of cells.
  std::size_t remove_others(std::span<const std::string> names) const;

  /// Signals other processes that everything is written.
  void finished() const;

 private:
  void remove_plan(const std::string& name) const;
  void remove(const std::string& file) const;
  void tell(const char* state) const;
  std::string folder_, job_;
  core::FileLock lock_;
};

/// Waits for the leader of the job. Returns true if its results are in the folder, or if the wait was
/// stopped; false if it died, or has not begun for half a minute.
bool await_leader(const std::string& folder, const std::string& job, core::StopToken stop);

}  // namespace penstock::experiment
