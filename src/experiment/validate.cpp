#include "penstock/experiment/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>

#include "owner.hpp"
#include "penstock/core/digest.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "selection.hpp"

namespace penstock::experiment {
namespace {

using Clock = std::chrono::steady_clock;

/// A cell with its plan, to be replayed.
struct PlanToReplay {
  std::string name;
  std::optional<plan::Plan> plan;
  std::string reason;       ///< reason why it has no row
  std::string fingerprint;  ///< of plan and conditions
  core::Seconds busy;       ///< simulated compute time of all devices in one run
  std::optional<report::ReplayRow> row;
};

/// Compute time of all devices in one run of the plan's order.
core::Seconds busy(const CellOutcome& outcome) {
  core::Seconds out;
  for (const trace::DeviceSummary& device : outcome.summary->devices) out += device.busy;
  return out * static_cast<double>(outcome.summary->mini_batches);
}

class ValidationRun {
 public:
  ValidationRun(const Spec& spec, const cost::CostModel& costs, const ValidateOptions& options,
                core::StopToken stop)
      : spec_(spec), costs_(costs), options_(options), stop_(stop), candidates_(spec.cells.size()) {
    const std::vector<bool> wanted = fitting(options.only, spec.cells);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) order_.push_back(i);
    options_.replay.options.stop = stop;
  }

  ValidateOutcome run() {
    own(options_.folder, spec_.name, spec_.summary);
    std::atomic<std::size_t> planned{0};
    core::parallel_for(candidates_.size(), [&](std::size_t i) {
      make_plan(i);
      if (options_.planned && !stop_.requested()) options_.planned(++planned, candidates_.size());
    });
    take_over();
    if (!stop_.requested()) write();
    begin_ = Clock::now();
    for (const std::size_t i : order_)
      if (!stop_.requested() && open(candidates_[i])) replay(i);
    return {table(), stop_.requested(), failed_};
  }

 private:
  void make_plan(std::size_t i) {
    PlanToReplay& out = candidates_[i];
    const Cell& cell = spec_.cells[i];
    out.name = cell_name(cell);
    if (stop_.requested()) return;
    try {
      const CellOutcome found = run_cell(spec_, cell, costs_, stop_);
      out.plan = found.plan;
      out.reason = found.row.status;
      if (out.plan) keep(out, spec_.inputs->model(cell.model), found);
    } catch (const core::InterruptedError&) {  // not planned: neither row nor reason
    }
  }

  void keep(PlanToReplay& out, const graph::OpGraph& graph, const CellOutcome& found) {
    const std::string path = fmt::format("{}/plans/{}.yaml", options_.folder, out.name);
    out.reason.clear();
    out.fingerprint = core::checksum(plan::to_yaml(graph, *out.plan) + options_.conditions);
    out.busy = busy(found);
    core::write_file(path, plan::to_yaml(graph, plan::written_to(path, *out.plan)));
  }

  static bool open(const PlanToReplay& candidate) {
    return candidate.plan && !candidate.row && candidate.reason.empty();
  }

  std::string file(const char* name) const { return options_.folder + "/" + name; }

  void take_over() {
    if (!std::filesystem::exists(file("validation.json"))) return;
    std::map<std::string, report::ReplayRow> known;
    for (auto& row :
         report::parse_replay_rows(core::read_file(file("validation.json")), file("validation.json")))
      known[row.plan] = row;
    for (PlanToReplay& candidate : candidates_)
      if (const auto row = known.find(candidate.name);
          row != known.end() && row->second.fingerprint == candidate.fingerprint)
        candidate.row = row->second;
  }

  void replay(std::size_t i) {
    PlanToReplay& candidate = candidates_[i];
    report::ReplayRow stamp;
    options_.stamp(stamp);
    if (options_.began) options_.began(candidate.name);
    try {
      candidate.row = measured(spec_.cells[i], candidate);
      candidate.row->load = stamp.load;
      candidate.row->date = stamp.date;
    } catch (const core::InterruptedError&) {
      return;
    } catch (const core::BadInput& e) {
      candidate.reason = std::string("not replayed: ") + e.what();
    } catch (const core::Error& e) {
      if (e.code() != core::ExitCode::device_failed) throw;
      candidate.reason = std::string("failed: ") + e.what();
      failed_ = true;
    }
    worked_ += candidate.busy;
    write();
    if (candidate.row) report_progress(*candidate.row);
  }

  report::ReplayRow measured(const Cell& cell, const PlanToReplay& candidate) const {
    const graph::OpGraph& graph = spec_.inputs->model(cell.model);
    const cluster::Cluster& cluster = spec_.inputs->cluster(cell.cluster);
    const cost::Problem problem{graph, cluster, costs_, cell.training, spec_.memory};
    report::ReplayRow out = replay_plan(problem, *candidate.plan, cell.simulation, options_.replay).row;
    out.plan = candidate.name;
    out.fingerprint = candidate.fingerprint;
    return out;
  }

  void report_progress(const report::ReplayRow& row) const {
    core::Seconds rest;
    std::size_t waiting = 0;
    for (const std::size_t i : order_)
      if (open(candidates_[i])) rest += candidates_[i].busy, ++waiting;
    const core::Seconds elapsed(std::chrono::duration<double>(Clock::now() - begin_).count());
    options_.progress({order_.size() - waiting, order_.size(), elapsed * (rest / worked_), row});
  }

  report::ReplayTable table() const {
    report::ReplayTable out{{}, {}, options_.setting};
    for (const PlanToReplay& candidate : candidates_) {
      if (candidate.row) out.rows.push_back(*candidate.row);
      if (!candidate.reason.empty()) out.left_out.push_back({candidate.name, candidate.reason});
    }
    return out;
  }

  void write() const {
    const report::ReplayTable now = table();
    core::write_file(file("validation.csv"), report::to_csv(now.rows));
    core::write_file(file("validation.json"), report::to_json(now, options_.provenance));
    core::write_file(file("table.txt"), report::replay_table(now));
  }

  const Spec& spec_;
  const cost::CostModel& costs_;
  ValidateOptions options_;
  core::StopToken stop_;
  std::vector<PlanToReplay> candidates_;
  std::vector<std::size_t> order_;  ///< plans to replay; rows of others are kept
  core::Seconds worked_;            ///< busy time of the plans replayed so far
  bool failed_ = false;
  Clock::time_point begin_;  ///< start of the first replay
};

}  // namespace

ValidateOutcome validate(const Spec& spec, const cost::CostModel& costs, const ValidateOptions& options,
                         core::StopToken stop) {
  return ValidationRun(spec, costs, options, stop).run();
}

}  // namespace penstock::experiment
