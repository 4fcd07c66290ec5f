#include "penstock/experiment/run.hpp"

#include <fmt/format.h>

#include <exception>
#include <mutex>

#include "claims_file.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/report/comparison.hpp"
#include "penstock/report/perfetto.hpp"
#include "penstock/report/timeline_svg.hpp"

namespace penstock::experiment {
namespace {

void write_outcome(const Cell& cell, const CellOutcome& outcome, const std::string& folder) {
  if (!outcome.plan) return;
  const std::string name = cell_name(cell);
  core::write_file(fmt::format("{}/plans/{}.yaml", folder, name),
                   plan::to_yaml(load_model(cell.model), *outcome.plan));
  const cluster::Cluster cluster = load_cluster(cell.cluster);
  report::write_perfetto(fmt::format("{}/traces/{}.pftrace", folder, name), *outcome.trace, &cluster);
  report::TimelineStyle style;
  style.title = fmt::format("{} on {} devices of {}, {}", outcome.row.model, outcome.row.devices,
                            outcome.row.cluster, outcome.row.planner);
  core::write_file(fmt::format("{}/timelines/{}.svg", folder, name), report::to_svg(*outcome.trace, style));
}

class Runner {
 public:
  Runner(const Spec& spec, const RunOptions& options, core::StopToken stop)
      : spec_(spec),
        options_(options),
        stop_(stop),
        costs_(load_costs(spec.costs)),
        rows_(spec.cells.size()) {}

  RunOutcome run() {
    core::parallel_for(spec_.cells.size(), [this](std::size_t i) { try_cell(i); });
    RunOutcome out{finished(), stop_.requested(), ""};
    if (fault_ && out.rows.empty()) std::rethrow_exception(fault_);  // nothing to keep, nothing to overwrite
    core::write_file(options_.folder + "/results.csv", report::to_csv(out.rows));
    core::write_file(options_.folder + "/results.json", report::to_json(out.rows, options_.provenance));
    core::write_file(options_.folder + "/table.txt", report::comparison(out.rows, spec_.baseline));
    if (fault_) std::rethrow_exception(fault_);
    out.claims =
        write_claims(options_.folder, spec_.name, spec_.summary, spec_.claims, report::to_rows(out.rows));
    return out;
  }

 private:
  void try_cell(std::size_t i) {
    if (stop_.requested() || failed()) return;
    try {
      const CellOutcome outcome = run_cell(spec_, spec_.cells[i], *costs_, stop_);
      write_outcome(spec_.cells[i], outcome, options_.folder);
      finish(i, outcome.row);
    } catch (const core::Interrupted&) {  // not finished: leaves no row
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
    }
  }

  void finish(std::size_t i, const report::CellResult& row) {
    const std::lock_guard lock(mutex_);
    rows_[i] = row;
    ++done_;
    if (options_.progress) options_.progress(done_, rows_.size(), row);
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
