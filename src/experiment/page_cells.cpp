#include "penstock/experiment/page_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "penstock/core/files.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/faults.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/report/cell_data.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/simulate.hpp"
#include "resolved.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 10;         ///< resources on the critical path
constexpr std::size_t kSimulatedAnew = 3;  ///< of these, with what the iteration would be without them
/// Beyond this a page is slow to open; later rows have no drawings then.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

std::vector<std::string> plan_files(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code none;  // a folder without plans is a table
  for (const auto& entry : fs::directory_iterator(folder + "/plans", none))
    if (entry.path().extension() == ".yaml") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

void add_path(const sim::Explanation& explanation, report::CellData& out) {
  for (const sim::PathEntry& entry : explanation.path) {
    report::PathPart part{{}, std::string(name(entry.kind)), entry.start, entry.end};
    if (entry.resource.kind == sim::Resource::Kind::device)
      part.device = core::DeviceId(entry.resource.index);
    out.path.push_back(std::move(part));
  }
  for (const sim::ResourceShare& share : explanation.shares)
    if (out.shares.size() < kShown)
      out.shares.push_back({share.name, share.time, share.share, share.without});
}

void check(const cost::Problem& problem, plan::Plan& plan) {
  const auto refuse = [](const std::vector<std::string>& faults) {
    if (!faults.empty()) throw core::Error(core::ExitCode::invalid_plan, faults.front());
  };
  refuse(plan::structural_faults(problem.graph, problem.cluster, plan));
  score::derive_in_flight(problem, plan);
  refuse(score::rule_faults(problem, plan));
}

report::CellData told(const cost::Problem& problem, const plan::Plan& plan,
                      const sim::SimulationOptions& simulation) {
  const auto order = score::order_of(problem, plan);
  report::CellData out{plan,
                       plan::StageGraph(problem.graph, plan).boundaries(),
                       sim::simulate(problem, plan, order, simulation),
                       {},
                       {}};
  if (out.trace.spans.size() > report::kMostSpansOfPage)
    throw core::Error(
        core::ExitCode::limit,
        fmt::format("its timeline of {} spans is too large for a page; penstock simulate draws it "
                    "with --svg and --perfetto",
                    out.trace.spans.size()));
  add_path(sim::explain(problem, plan, order, simulation, kSimulatedAnew), out);
  return out;
}

/// Both to about the last digit: the row's number is the same, written in decimal.
bool same(double a, double b) {
  constexpr double kRounding = 1e-9;
  return std::abs(a - b) <= kRounding * std::abs(b);
}

/// What one plan file has to say.
struct Told {
  std::optional<std::size_t> row;  ///< none where the file cannot be read, or no row is its own
  report::PageCell cell;
  std::string fault;  ///< of the file, where that keeps its row unknown
};

/// Cost models by their files, each loaded once. Callable from any thread.
class CostShelf {
 public:
  std::shared_ptr<const cost::CostModel> get(const std::optional<std::string>& file) {
    const std::lock_guard lock(mutex_);
    auto& costs = costs_[file];
    if (!costs) costs = load_costs(file);
    return costs;
  }

 private:
  std::mutex mutex_;
  std::map<std::optional<std::string>, std::shared_ptr<const cost::CostModel>> costs_;
};

/// How the plan of that file was judged.
Judgement judgement(const std::string& plan_file) {
  const fs::path plan(plan_file);
  const std::string file = (plan.parent_path().parent_path() / "cells" / plan.stem()).string() + ".json";
  return fs::exists(file) ? parse_judgement(core::read_file(file), file) : Judgement{};
}

class Teller {
 public:
  Teller(const std::vector<report::CellResult>& rows, core::StopToken stop) : rows_(rows), stop_(stop) {
    for (std::size_t i = 0; i < rows.size(); ++i) index_.emplace(report::about(rows[i]), i);
  }

  std::vector<report::PageCell> tell(const std::vector<std::string>& files) {
    std::vector<Told> told(files.size());
    core::parallel_for(files.size(), [&](std::size_t i) { told[i] = tell_safely(files[i]); });
    stop_.check();
    std::vector<report::PageCell> cells(rows_.size());
    std::string fault;
    for (Told& one : told) {  // of two files for one row the last counts, whatever the threads did
      if (one.row) cells[*one.row] = std::move(one.cell);
      if (fault.empty()) fault = one.fault;
    }
    finish(cells, fault);
    return cells;
  }

 private:
  Told tell_safely(const std::string& file) {
    if (stop_.requested()) return {};
    try {
      return tell_one(file);
    } catch (const core::Interrupted&) {
      return {};  // tell() throws it on
    } catch (const core::Error& e) {
      return {{}, {}, e.what()};
    }
  }

  Told tell_one(const std::string& file) {
    const std::string text = core::read_file(file);
    const plan::PlanHead head = plan::parse_plan_head(text, file);
    const graph::OpGraph graph = load_model(head.model);
    const cluster::Cluster cluster = load_cluster(head.cluster);
    plan::Plan plan = plan::parse_plan(text, file, graph);
    plan.model = head.model;
    plan.cluster = head.cluster;
    Judgement judged = judgement(file);
    judged.simulation.stop = stop_;
    report::CellResult row = describe({plan.model, plan.cluster, {}, plan.training, {}});
    row.planner = plan.planner;
    row.setting = judged.setting;
    const auto found = index_.find(report::about(row));
    if (found == index_.end()) return {};
    const auto costs = costs_.get(judged.costs);
    const cost::Problem problem{graph, cluster, *costs, plan.training, judged.memory};
    return {found->second, simulated(problem, plan, judged.simulation, rows_[found->second]), ""};
  }

  static report::PageCell simulated(const cost::Problem& problem, plan::Plan& plan,
                                    const sim::SimulationOptions& simulation, const report::CellResult& row) {
    try {
      check(problem, plan);
      const report::CellData data = told(problem, plan, simulation);
      return {report::packed(data), difference(row, to_seconds(data.trace.iteration))};
    } catch (const core::Interrupted&) {
      throw;
    } catch (const core::Error& e) {
      return {"", fmt::format("No drawings: {}", e.what())};
    }
  }

  static std::string difference(const report::CellResult& row, core::Seconds now) {
    if (!row.iteration_s || same(now.value(), *row.iteration_s)) return "";
    return fmt::format(
        "The drawings are of a new simulation, whose iteration takes {} where the results say {}: the model, "
        "the cluster, the costs or Penstock has changed since.",
        core::show(now), core::show(core::Seconds(*row.iteration_s)));
  }

  /// Keeps the page within its size, and says of rows that have neither data nor note why.
  void finish(std::vector<report::PageCell>& cells, const std::string& fault) const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      report::PageCell& cell = cells[i];
      bytes += cell.data.size();
      if (!cell.data.empty() && bytes > kMostBytes)
        cell = {"",
                "No drawings: the page would become too large. A results folder of fewer cells shows them."};
      if (!cell.data.empty() || !cell.note.empty() || !rows_[i].iteration_s) continue;
      cell.note = fault.empty() ? "No drawings: plans/ has no plan of this row."
                                : "No drawings: a plan file cannot be used. " + fault;
    }
  }

  const std::vector<report::CellResult>& rows_;
  core::StopToken stop_;
  std::map<report::About, std::size_t> index_;
  CostShelf costs_;
};

}  // namespace

std::vector<report::PageCell> page_cells(const std::string& folder,
                                         const std::vector<report::CellResult>& rows, core::StopToken stop) {
  return Teller(rows, stop).tell(plan_files(folder));
}

}  // namespace penstock::experiment
