#include "results_folder.hpp"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "overwrite.hpp"
#include "owner.hpp"
#include "penstock/core/files.hpp"
#include "penstock/report/comparison.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;

constexpr report::ColumnGroups kLasting{.axes = true, .results = true, .measured = false, .origin = false};
constexpr report::ColumnGroups kTimings{.axes = true, .results = false, .measured = true, .origin = true};
constexpr const char *kWriting = "writing ", *kFinished = "finished ";

/// File locked by the leader; it contains the leader's job and state.
std::string lock_file(const std::string& folder) {
  return folder + "/.cache/writer";
}

core::FileLock sole_writer(const std::string& folder) {
  auto lock = core::FileLock::take(lock_file(folder));
  if (!lock) throw core::BadInput("another run is writing into " + folder + "/");
  return std::move(*lock);
}

/// Removes files that core::FileWriter leaves when its process is killed.
void sweep(const std::string& folder) {
  std::error_code fault;
  for (const char* part : {"", "/cells", "/plans", "/traces", "/timelines"})
    for (const auto& entry : fs::directory_iterator(folder + part, fault))
      if (core::is_left_behind(entry.path().string())) fs::remove(entry.path(), fault);
}

std::string content(const std::string& file) {
  try {
    return core::read_file(file);
  } catch (const core::BadInput&) {  // does not exist yet
    return "";
  }
}

}  // namespace

std::string provenance_json(const report::Provenance& provenance, const std::string& summary,
                            const std::string& baseline) {
  auto json = nlohmann::ordered_json::parse(report::to_json(provenance));
  if (!summary.empty()) json["summary"] = summary;
  if (!baseline.empty()) json["baseline"] = baseline;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

ResultsFolder::ResultsFolder(std::string folder, const Spec& spec, std::string job)
    : folder_(std::move(folder)), job_(std::move(job)), lock_(sole_writer(folder_)) {
  own(folder_, spec.name, spec.summary);
  tell(kWriting);
  sweep(folder_);
}

void ResultsFolder::write_cell(const std::string& name, const std::string& resolved,
                               const CacheEntry& entry) const {
  core::write_file(folder_ + "/cells/" + name + ".json", resolved);
  if (entry.plan.empty()) return remove_plan(name);
  core::write_file(folder_ + "/plans/" + name + ".yaml", entry.plan);
  core::write_file(folder_ + "/traces/" + name + ".pftrace", entry.trace);
  core::write_file(folder_ + "/timelines/" + name + ".svg", entry.timeline);
}

void ResultsFolder::write_tables(std::span<const report::CellResult> rows, const std::string& baseline,
                                 const std::string& provenance) const {
  core::write_file(folder_ + "/results.csv", report::to_csv(rows, kLasting));
  core::write_file(folder_ + "/results.json", report::rows_json(rows, kLasting));
  core::write_file(folder_ + "/table.txt", report::comparison(rows, baseline, false));
  core::write_file(folder_ + "/timings.csv", report::to_csv(rows, kTimings));
  core::write_file(folder_ + "/provenance.json", provenance);
}

/// A cell always has a configuration; a plan without one belongs to the user and stays.
std::size_t ResultsFolder::remove_others(std::span<const std::string> names) const {
  const std::set<std::string> kept(names.begin(), names.end());
  std::vector<std::string> others;
  std::error_code fault;
  for (const auto& entry : fs::directory_iterator(folder_ + "/cells", fault))
    if (entry.path().extension() == ".json" && !kept.contains(entry.path().stem().string()))
      others.push_back(entry.path().stem().string());
  for (const std::string& name : others) {
    remove_plan(name);
    remove("/cells/" + name + ".json");
  }
  return others.size();
}

void ResultsFolder::remove_plan(const std::string& name) const {
  remove("/plans/" + name + ".yaml");
  remove("/traces/" + name + ".pftrace");
  remove("/timelines/" + name + ".svg");
}

void ResultsFolder::remove(const std::string& file) const {
  std::error_code fault;
  fs::remove(folder_ + file, fault);
  if (fault) throw core::BadInput("cannot remove file '" + folder_ + file + "'");
}

void ResultsFolder::finished() const {
  sweep(folder_);  // a leader that died just now still counted as running when this one took over
  tell(kFinished);
}

/// Writes in place, so that the file keeps its lock.
void ResultsFolder::tell(const char* state) const {
  overwrite(lock_file(folder_), state + job_);
}

bool await_leader(const std::string& folder, const std::string& job, core::StopToken stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience(30);
  constexpr std::chrono::milliseconds kPause(50);
  const auto end = Clock::now() + kPatience;
  for (; !stop.requested(); std::this_thread::sleep_for(kPause)) {
    const std::string state = content(lock_file(folder));
    if (state == kFinished + job) return true;
    if (state != kWriting + job && Clock::now() < end) continue;  // try the lock only once it has begun
    const auto lock = core::FileLock::take(lock_file(folder));
    if (lock) return content(lock_file(folder)) == kFinished + job;  // it may have finished just now
  }
  return true;
}

}  // namespace penstock::experiment
