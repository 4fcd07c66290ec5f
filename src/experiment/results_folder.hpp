#pragma once
// The files of an experiment.

#include <span>
#include <string>

#include "entry.hpp"
#include "penstock/core/file_lock.hpp"

namespace penstock::experiment {

/// One process at a time writes into the folder; what an earlier one left half written goes.
class ResultsFolder {
 public:
  /// Throws BadInput while another process has the folder.
  explicit ResultsFolder(std::string folder);

  /// cells/ (the resolved configuration), and with a plan plans/, traces/ and timelines/.
  void write_cell(const std::string& name, const std::string& resolved, const Entry& entry) const;

  /// What the same inputs always give: results.csv, results.json, table.txt. What was measured, when and on
  /// what: timings.csv. Who wrote all that: provenance.json.
  void write_tables(std::span<const report::CellResult> rows, const std::string& baseline,
                    const report::Provenance& provenance) const;

 private:
  std::string folder_;
  core::FileLock lock_;
};

}  // namespace penstock::experiment
