#include "penstock/experiment/run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "cache.hpp"
#include "claims_file.hpp"
#include "penstock/core/digest.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/experiment/inputs.hpp"
#include "resolved.hpp"
#include "results_folder.hpp"

namespace penstock::experiment {
namespace {

using Clock = std::chrono::steady_clock;

class Runner {
 public:
  Runner(const Spec& spec, const RunOptions& options, core::StopToken stop)
      : spec_(spec),
        options_(options),
        stop_(stop),
        costs_(load_costs(spec.costs)),
        cache_(options.cache_folder()),
        rows_(spec.cells.size()) {
    for (const Cell& cell : spec.cells) {
      resolved_.push_back(resolved(spec, cell, options.program));
      keys_.push_back(core::digest(resolved_.back()));
    }
    if (options.leader) folder_.emplace(options.folder);
  }

  RunOutcome run() {
    do pass();
    while (wait_for_others());
    RunOutcome out{finished(), stop_.requested(), ""};
    if (fault_ && out.rows.empty()) std::rethrow_exception(fault_);  // nothing to keep, nothing to overwrite
    if (folder_) {
      folder_->write_tables(out.rows, spec_.baseline, options_.provenance);
      remove_claims(options_.folder);  // they were about other rows
    }
    if (fault_) std::rethrow_exception(fault_);
    if (folder_ && out.rows.size() == rows_.size())
      out.claims =
          write_claims(options_.folder, spec_.name, spec_.summary, spec_.claims, report::to_rows(out.rows));
    return out;
  }

 private:
  /// Visits every cell that is not done, those first that no process has failed to finish.
  void pass() {
    std::vector<std::size_t> order, attempts(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (!rows_[i]) order.push_back(i), attempts[i] = cache_.attempts(keys_[i]);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return attempts[a] < attempts[b]; });
    std::atomic<std::size_t> next{0};  // oneTBB does not promise any order
    const auto visit_next = [&](std::size_t) { visit(order[next++]); };
    if (spec_.memory_limit)
      for (std::size_t i = 0; i < order.size(); ++i) visit_next(i);
    else
      core::parallel_for(order.size(), visit_next);
  }

  /// Only the leader stays for cells in others' hands.
  bool wait_for_others() {
    const bool all = std::all_of(rows_.begin(), rows_.end(), [](const auto& row) { return row.has_value(); });
    if (all || !options_.leader || stop_.requested() || failed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return true;
  }

  void visit(std::size_t i) {
    if (stop_.requested() || failed()) return;
    try {
      if (const auto entry = cache_.find(keys_[i])) return finish(i, *entry, true);
      auto claim = cache_.claim(keys_[i]);
      if (claim) finish(i, compute(i, std::move(*claim)), false);
    } catch (const core::Interrupted&) {  // not finished: leaves no row
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
    }
  }

  Entry compute(std::size_t i, Cache::Claim claim) {
    const Cell& cell = spec_.cells[i];
    const auto begin = Clock::now();
    CellOutcome outcome = try_cell(spec_, cell, *costs_, stop_);
    outcome.row.date = options_.provenance.date;
    outcome.row.hardware = options_.provenance.hardware;
    Entry entry = entry_of(cell, outcome);
    cache_.remember(cell_name(cell), std::chrono::duration<double>(Clock::now() - begin).count());
    cache_.store(std::move(claim), entry);
    return entry;
  }

  void finish(std::size_t i, const Entry& entry, bool cached) {
    if (folder_) folder_->write_cell(cell_name(spec_.cells[i]), resolved_[i], entry);
    const std::lock_guard lock(mutex_);
    rows_[i] = entry.row;
    ++done_;
    if (options_.progress) options_.progress(done_, rows_.size(), entry.row, cached);
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
  Cache cache_;
  std::optional<ResultsFolder> folder_;  ///< of the leader
  std::vector<std::string> resolved_, keys_;
  std::vector<std::optional<report::CellResult>> rows_;
  std::size_t done_ = 0;
  std::exception_ptr fault_;
  std::mutex mutex_;
};

}  // namespace

RunOutcome run(const Spec& spec, const RunOptions& options, core::StopToken stop) {
  return Runner(spec, options, stop).run();
}

}  // namespace penstock::experiment
