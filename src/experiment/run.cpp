#include "penstock/experiment/run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "cache.hpp"
#include "claims_file.hpp"
#include "owner.hpp"
#include "penstock/core/digest.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "resolved.hpp"
#include "results_folder.hpp"
#include "selection.hpp"

namespace penstock::experiment {
namespace {

using Clock = std::chrono::steady_clock;

class ExperimentRunner {
 public:
  ExperimentRunner(const Spec& spec, const RunOptions& options, core::StopToken stop)
      : spec_(spec),
        options_(options),
        stop_(stop),
        costs_(spec.inputs->costs(spec.costs)),
        cache_(options.cache_folder()),
        wanted_(fitting(options.only, spec.cells)),
        rows_(spec.cells.size()) {
    for (const Cell& cell : spec.cells) {
      resolved_.push_back(resolved(spec, cell, options.program));
      keys_.push_back(core::digest(resolved_.back()));
    }
    if (options.leader)
      folder_.emplace(options.folder, spec, options.job);
    else
      check_owner(options.folder, spec.name);
  }

  RunOutcome run() {
    bool first = options_.leader && options_.again;
    do pass(std::exchange(first, false));
    while (wait_for_others());
    if (stop_.requested()) add_cached();
    RunOutcome out{finished(), stop_.requested()};
    if (!errors_.empty()) out.error = errors_.begin()->second;
    if (fault_ && out.rows.empty()) std::rethrow_exception(fault_);  // nothing to keep, nothing to overwrite
    if (folder_) write(out);
    if (fault_) std::rethrow_exception(fault_);
    if (folder_) conclude(out);
    out.led = folder_.has_value();
    const bool waits = !out.led && !options_.job.empty() && !out.interrupted;
    return waits && !await_leader(options_.folder, options_.job, stop_) && take_over() ? run() : out;
  }

 private:
  /// Visits every unfinished cell, those first that no process failed to finish. `again`: rows that are not
  /// lasting are run again, in the leader's first pass; later such rows come from other processes.
  void pass(bool again) {
    std::vector<std::size_t> order, attempts(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (!rows_[i]) order.push_back(i), attempts[i] = cache_.attempts(keys_[i]);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return attempts[a] < attempts[b]; });
    std::atomic<std::size_t> next{0};  // oneTBB promises no order
    const auto visit_next = [&](std::size_t) { visit(order[next++], again); };
    if (spec_.searches_one_by_one())
      for (std::size_t i = 0; i < order.size(); ++i) visit_next(i);
    else
      core::parallel_for(order.size(), visit_next);
  }

  /// Adds cached cells that an interrupted run did not reach, so that they stay in the tables.
  void add_cached() {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (!rows_[i])
        if (const auto entry = cache_.find(keys_[i])) finish(i, *entry, true);
  }

  /// Called when the leader has died: one of the others does the leader's work again, with all cells in the
  /// cache.
  bool take_over() {
    try {
      folder_.emplace(options_.folder, spec_, options_.job);
    } catch (const core::BadInput&) {  // another process was faster
      if (!await_leader(options_.folder, options_.job, stop_)) throw;
      return false;
    }
    std::fill(rows_.begin(), rows_.end(), std::nullopt);
    return true;
  }

  void write(RunOutcome& out) const {
    folder_->write_tables(out.rows, spec_.baseline,
                          provenance_json(options_.provenance, spec_.summary, spec_.baseline));
    remove_claims(options_.folder);  // they were about other rows
    std::vector<std::string> names;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i]) names.push_back(cell_name(spec_.cells[i]));
    out.removed = folder_->remove_others(names);
  }

  void conclude(RunOutcome& out) const {
    if (out.rows.size() == rows_.size())
      out.claims =
          write_claims(options_.folder, spec_.name, spec_.summary, spec_.claims, report::to_rows(out.rows));
    folder_->finished();
  }

  /// Number of selected cells without a row.
  std::size_t missing() const {
    std::size_t out = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) out += wanted_[i] && !rows_[i];
    return out;
  }

  /// Only the leader waits for cells of other processes.
  bool wait_for_others() {
    if (!missing() || !folder_ || stop_.requested() || failed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return true;
  }

  void visit(std::size_t i, bool again) {
    if (stop_.requested() || failed()) return;
    try {
      const auto entry = cache_.find(keys_[i]);
      if (entry && (!again || !wanted_[i] || lasting(entry->row))) return finish(i, *entry, true);
      if (!wanted_[i]) return;
      if (entry) cache_.forget(keys_[i]);
      auto claim = cache_.claim(keys_[i]);
      if (claim) finish(i, compute(i, std::move(*claim)), false);
    } catch (const core::InterruptedError&) {  // not finished: leaves no row
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
    }
  }

  CacheEntry compute(std::size_t i, CellCache::CellClaim claim) {
    const Cell& cell = spec_.cells[i];
    if (options_.began) options_.began(describe(cell));
    const auto begin = Clock::now();
    CacheEntry entry = entry_for(i);
    entry.row.date = options_.provenance.date;
    entry.row.hardware = options_.provenance.hardware;
    cache_.remember(cell_name(cell), std::chrono::duration<double>(Clock::now() - begin).count());
    // Another process may have more memory.
    if (!out_of_memory(entry.row)) cache_.store(std::move(claim), entry);
    return entry;
  }

  std::string path(const char* part, const Cell& cell, const char* ending) const {
    return options_.folder + "/" + part + "/" + cell_name(cell) + ending;
  }

  CacheEntry entry_for(std::size_t i) {
    const Cell& cell = spec_.cells[i];
    CellOutcome outcome = try_cell(spec_, cell, *costs_, stop_);
    if (outcome.error) {
      const std::lock_guard lock(mutex_);
      errors_[i] = outcome.error;
    }
    if (is_order_file(cell.schedule) && !spec_.inputs->unchanged(cell.schedule))
      return {
          without_plan(cell, "bad input: " + cell.schedule + " has changed since the run began"), {}, {}, {}};
    if (outcome.plan) outcome.plan = plan::written_to(path("plans", cell, ".yaml"), *outcome.plan);
    return entry_of(*spec_.inputs, cell, outcome);
  }

  void finish(std::size_t i, const CacheEntry& entry, bool cached) {
    const Cell& cell = spec_.cells[i];
    if (folder_)
      folder_->write_cell(cell_name(cell), resolved_for(path("cells", cell, ".json"), resolved_[i]), entry);
    const std::lock_guard lock(mutex_);
    report::CellResult row = entry.row;
    const report::CellResult named = describe(cell);  // a cached row may have another label
    row.model = named.model;
    row.cluster = named.cluster;
    row.planner = named.planner;
    rows_[i] = row;
    if (!wanted_[i]) return;
    ++done_;
    const auto total = static_cast<std::size_t>(std::count(wanted_.begin(), wanted_.end(), true));
    if (options_.progress) options_.progress(done_, total, row, cached);
  }

  bool failed() {
    const std::lock_guard lock(mutex_);
    return fault_ != nullptr;
  }

  std::vector<report::CellResult> finished() const {
    std::vector<report::CellResult> out;
    for (const auto& row : rows_)
      if (row) out.push_back(*row);
    return out;
  }

  const Spec& spec_;
  const RunOptions& options_;
  core::StopToken stop_;
  std::shared_ptr<const cost::CostModel> costs_;
  CellCache cache_;
  std::optional<ResultsFolder> folder_;  ///< set in the leader
  std::vector<std::string> resolved_, keys_;
  std::vector<bool> wanted_;
  std::vector<std::optional<report::CellResult>> rows_;
  std::size_t done_ = 0;
  std::map<std::size_t, std::exception_ptr> errors_;  ///< [cell]
  std::exception_ptr fault_;
  std::mutex mutex_;
};

}  // namespace

RunOutcome run(const Spec& spec, const RunOptions& options, core::StopToken stop) {
  return ExperimentRunner(spec, options, stop).run();
}

}  // namespace penstock::experiment
