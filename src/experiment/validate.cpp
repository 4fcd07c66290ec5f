#include "penstock/experiment/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "penstock/core/digest.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"

namespace penstock::experiment {
namespace {

using Clock = std::chrono::steady_clock;

/// A cell on its way to a row.
struct Candidate {
  std::string name;
  std::optional<plan::Plan> plan;
  std::string reason;       ///< why it has no row
  std::string fingerprint;  ///< of plan and conditions
  core::Seconds busy;       ///< of all devices in one run, simulated
  std::optional<report::ReplayRow> row;
};

/// What all devices compute in one run of the plan's order.
core::Seconds busy(const CellOutcome& outcome) {
  core::Seconds out;
  for (const trace::DeviceSummary& device : outcome.summary->devices) out += device.busy;
  return out * static_cast<double>(outcome.trace->mini_batches);
}

class Validation {
 public:
  Validation(const Spec& spec, const cost::CostModel& costs, const ValidateOptions& options,
             core::StopToken stop)
      : spec_(spec), costs_(costs), options_(options), stop_(stop), candidates_(spec.cells.size()) {
    options_.replay.options.stop = stop;
  }

  ValidateOutcome run() {
    core::parallel_for(candidates_.size(), [this](std::size_t i) { make_plan(i); });
    take_over();
    if (!stop_.requested()) write();
    begin_ = Clock::now();
    for (std::size_t i = 0; i < candidates_.size() && !stop_.requested(); ++i)
      if (open(candidates_[i])) replay(i);
    return {table(), stop_.requested(), failed_};
  }

 private:
  void make_plan(std::size_t i) {
    Candidate& out = candidates_[i];
    const Cell& cell = spec_.cells[i];
    out.name = cell_name(cell);
    if (stop_.requested()) return;
    try {
      const CellOutcome found = run_cell(spec_, cell, costs_, stop_);
      out.plan = found.plan;
      out.reason = found.row.status;
      if (out.plan) keep(out, plan::to_yaml(load_model(cell.model), *out.plan), found);
    } catch (const core::Interrupted&) {  // not planned: neither row nor reason
    }
  }

  void keep(Candidate& out, const std::string& text, const CellOutcome& found) {
    out.reason.clear();
    out.fingerprint = core::checksum(text + options_.conditions);
    out.busy = busy(found);
    core::write_file(fmt::format("{}/plans/{}.yaml", options_.folder, out.name), text);
  }

  static bool open(const Candidate& candidate) {
    return candidate.plan && !candidate.row && candidate.reason.empty();
  }

  std::string file(const char* name) const { return options_.folder + "/" + name; }

  void take_over() {
    if (!std::filesystem::exists(file("validation.json"))) return;
    std::map<std::string, report::ReplayRow> known;
    for (auto& row :
         report::parse_replay_rows(core::read_file(file("validation.json")), file("validation.json")))
      known[row.plan] = row;
    for (Candidate& candidate : candidates_)
      if (const auto row = known.find(candidate.name);
          row != known.end() && row->second.fingerprint == candidate.fingerprint)
        candidate.row = row->second;
  }

  void replay(std::size_t i) {
    Candidate& candidate = candidates_[i];
    report::ReplayRow stamp;
    options_.stamp(stamp);
    try {
      candidate.row = measured(spec_.cells[i], candidate);
      candidate.row->load = stamp.load;
      candidate.row->date = stamp.date;
    } catch (const core::Interrupted&) {
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

  report::ReplayRow measured(const Cell& cell, const Candidate& candidate) const {
    const graph::OpGraph graph = load_model(cell.model);
    const cluster::Cluster cluster = load_cluster(cell.cluster);
    const cost::Problem problem{graph, cluster, costs_, cell.training, spec_.memory};
    report::ReplayRow out = replay_plan(problem, *candidate.plan, cell.simulation, options_.replay).row;
    out.plan = candidate.name;
    out.fingerprint = candidate.fingerprint;
    return out;
  }

  void report_progress(const report::ReplayRow& row) const {
    core::Seconds rest;
    std::size_t waiting = 0;
    for (const Candidate& candidate : candidates_)
      if (open(candidate)) rest += candidate.busy, ++waiting;
    const core::Seconds elapsed(std::chrono::duration<double>(Clock::now() - begin_).count());
    options_.progress({candidates_.size() - waiting, candidates_.size(), elapsed * (rest / worked_), row});
  }

  report::ReplayTable table() const {
    report::ReplayTable out{{}, {}, options_.setting};
    for (const Candidate& candidate : candidates_) {
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
  std::vector<Candidate> candidates_;
  core::Seconds worked_;  ///< busy time of the plans replayed so far
  bool failed_ = false;
  Clock::time_point begin_;  ///< of the first replay
};

}  // namespace

ValidateOutcome validate(const Spec& spec, const cost::CostModel& costs, const ValidateOptions& options,
                         core::StopToken stop) {
  return Validation(spec, costs, options, stop).run();
}

}  // namespace penstock::experiment
