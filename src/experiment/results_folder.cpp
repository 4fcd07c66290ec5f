#include "results_folder.hpp"

#include <filesystem>

#include "penstock/core/files.hpp"
#include "penstock/report/comparison.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;

constexpr report::Columns kLasting{.axes = true, .results = true, .measured = false, .origin = false};
constexpr report::Columns kTimings{.axes = true, .results = false, .measured = true, .origin = true};

core::FileLock sole_writer(const std::string& folder) {
  auto lock = core::FileLock::take(folder + "/.cache/writer");
  if (!lock) throw core::BadInput("another run is writing into " + folder + "/");
  return std::move(*lock);
}

/// What core::FileWriter leaves when its process is killed.
void sweep(const std::string& folder) {
  std::error_code fault;
  for (const char* part : {"", "/cells", "/plans", "/traces", "/timelines"})
    for (const auto& entry : fs::directory_iterator(folder + part, fault))
      if (entry.path().extension() == ".tmp") fs::remove(entry.path(), fault);
}

}  // namespace

ResultsFolder::ResultsFolder(std::string folder) : folder_(std::move(folder)), lock_(sole_writer(folder_)) {
  sweep(folder_);
}

void ResultsFolder::write_cell(const std::string& name, const std::string& resolved,
                               const Entry& entry) const {
  core::write_file(folder_ + "/cells/" + name + ".json", resolved);
  if (entry.plan.empty()) return;
  core::write_file(folder_ + "/plans/" + name + ".yaml", entry.plan);
  core::write_file(folder_ + "/traces/" + name + ".pftrace", entry.trace);
  core::write_file(folder_ + "/timelines/" + name + ".svg", entry.timeline);
}

void ResultsFolder::write_tables(std::span<const report::CellResult> rows, const std::string& baseline,
                                 const report::Provenance& provenance) const {
  core::write_file(folder_ + "/results.csv", report::to_csv(rows, kLasting));
  core::write_file(folder_ + "/results.json", report::rows_json(rows, kLasting));
  core::write_file(folder_ + "/table.txt", report::comparison(rows, baseline, false));
  core::write_file(folder_ + "/timings.csv", report::to_csv(rows, kTimings));
  core::write_file(folder_ + "/provenance.json", report::to_json(provenance));
}

}  // namespace penstock::experiment
