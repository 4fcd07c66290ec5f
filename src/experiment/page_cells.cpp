#include "penstock/experiment/page_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>

#include "penstock/core/files.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/report/cell_data.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/explain.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/sim/waterfall.hpp"
#include "resolved.hpp"

namespace penstock::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShown = 10;         ///< resources of the critical path
constexpr std::size_t kSimulatedAnew = 3;  ///< how many of these are simulated without the resource
constexpr std::size_t kBatch = 64;         ///< plans simulated in parallel

/// Files plans/NAME.yaml of the folder.
std::vector<std::string> plan_files(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code none;  // a folder without plans has only a table
  for (const auto& entry : fs::directory_iterator(folder + "/plans", none))
    if (entry.path().extension() == ".yaml") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

/// Order of rows: the fastest plan of each problem, then the second of each, and so on; rows without a plan
/// are left out.
std::vector<std::size_t> worth_seeing(const std::vector<report::CellResult>& rows) {
  std::map<report::About, std::vector<std::size_t>> problems;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].iteration_s) continue;
    report::CellResult problem = rows[i];
    problem.planner.clear();
    problems[report::about(problem)].push_back(i);
  }
  std::vector<std::pair<std::size_t, std::size_t>> ranked;
  for (auto& [problem, all] : problems) {
    std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
      return *rows[a].iteration_s < *rows[b].iteration_s;
    });
    for (std::size_t rank = 0; rank < all.size(); ++rank) ranked.emplace_back(rank, all[rank]);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::size_t> out;
  for (const auto& [rank, row] : ranked) out.push_back(row);
  return out;
}

/// The cell that a row's texts name.
Cell cell_of(const report::CellResult& row) {
  Cell cell;
  std::istringstream model(row.model), setting(row.setting);
  model >> cell.model.name;
  const auto split = [](const std::string& word) {
    const std::size_t at = std::min(word.find('='), word.size());
    return std::pair(word.substr(0, at), word.substr(std::min(at + 1, word.size())));
  };
  for (std::string word; model >> word;) cell.model.parameters.insert(split(word));
  for (std::string word; setting >> word;) cell.setting.push_back(split(word));
  cell.cluster = {row.cluster, static_cast<int>(row.devices)};
  cell.planner.name = row.planner;
  cell.training.mini_batch = row.mini_batch;
  return cell;
}

/// Possible names of the row's plan file, by cell_name: its texts may be labels.
std::array<std::string, 2> plan_names(const report::CellResult& row) {
  Cell cell = cell_of(row);
  const std::string plain = cell_name(cell);
  cell.model.label = row.model;
  cell.cluster_label = row.cluster;
  return {plain, cell_name(cell)};
}

/// Files in the order of their rows; files without a row come last.
std::vector<std::string> in_order(const std::vector<std::string>& files,
                                  const std::vector<report::CellResult>& rows) {
  std::map<std::string, std::string> by_name;
  for (const std::string& file : files) by_name.emplace(fs::path(file).stem().string(), file);
  std::vector<std::string> out;
  for (const std::size_t row : worth_seeing(rows))
    for (const std::string& name : plan_names(rows[row]))
      if (const auto found = by_name.extract(name)) out.push_back(found.mapped());
  for (const auto& [name, file] : by_name) out.push_back(file);
  return out;
}

void add_path(const sim::TimeExplanation& explanation, report::CellData& out) {
  for (const sim::PathEntry& entry : explanation.path) {
    report::PathPart part{{}, std::string(name(entry.kind)), entry.start, entry.end};
    if (entry.device.valid()) part.device = entry.device;
    out.path.push_back(std::move(part));
  }
  for (const sim::ResourceShare& share : explanation.shares)
    if (out.shares.size() < kShown)
      out.shares.push_back({share.name, share.time, share.share, share.without});
}

void add_waterfall(const sim::Waterfall& waterfall, report::CellData& out) {
  for (std::size_t p = 0; p < sim::kTimeParts; ++p) {
    const auto part = static_cast<sim::TimePart>(p);
    out.waterfall.push_back({std::string(key(part)), std::string(name(part)), waterfall.of(part)});
  }
}

void check(const cost::Problem& problem, plan::Plan& plan) {
  const auto refuse = [](const std::vector<std::string>& violations) {
    if (!violations.empty()) throw core::Error(core::ExitCode::invalid_plan, violations.front());
  };
  refuse(plan::structural_violations(problem.graph, problem.cluster, plan));
  score::derive_in_flight(problem, plan);
  refuse(score::rule_violations(problem, plan));
}

std::vector<std::string> names(const graph::OpGraph& graph) {
  std::vector<std::string> out;
  for (std::size_t v = 0; v < graph.size(); ++v) out.push_back(graph.op(core::OpId(v)).name);
  return out;
}

report::CellData told(const cost::Problem& problem, const plan::Plan& plan,
                      const sim::SimulationOptions& simulation) {
  const auto scheduled = score::scheduled(problem, plan);
  report::CellData out{plan,
                       names(problem.graph),
                       scheduled.stages.boundaries(),
                       sim::simulate(problem, scheduled, simulation),
                       {},
                       {}};
  if (const std::size_t spans = report::drawn_spans(out.trace); spans > report::kMostSpansOfPage)
    throw core::Error(
        core::ExitCode::limit,
        fmt::format("its timeline of {} spans is too large for a page; penstock simulate draws it "
                    "with --svg and --perfetto",
                    spans));
  add_path(sim::explain(problem, scheduled, simulation, kSimulatedAnew), out);
  add_waterfall(sim::waterfall(problem, plan, trace::TraceByDevice(out.trace), simulation), out);
  return out;
}

/// Equal to about the last digit: the row's number went through a decimal text.
bool same(double a, double b) {
  constexpr double kRounding = 1e-9;
  return std::abs(a - b) <= kRounding * std::abs(b);
}

/// Note if the row's time differs.
std::string difference(const report::CellResult& row, core::Seconds now) {
  if (!row.iteration_s || same(now.value(), *row.iteration_s)) return "";
  return fmt::format(
      "The drawings are of a new simulation, whose iteration takes {} where the results say {}: the model, "
      "the cluster, the costs or Penstock has changed since.",
      core::show(now), core::show(core::Seconds(*row.iteration_s)));
}

/// Result of one plan file.
struct FileCell {
  std::optional<std::size_t> row;  ///< none if the file cannot be read, or if it belongs to no row
  report::PageCell cell;
  std::string fault;  ///< error of the file, if that hides its row
};

/// Cost models by file, each loaded once. Thread-safe.
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

/// Settings with which the plan of that file was evaluated; none if the folder has no such file.
std::optional<ScoringSetting> judgement(const std::string& plan_file) {
  const fs::path plan(plan_file);
  const std::string file = (plan.parent_path().parent_path() / "cells" / plan.stem()).string() + ".json";
  if (!fs::exists(file)) return {};
  return parse_judgement(core::read_file(file), file);
}

/// Costs that a row states, if no cell's file does: data sheets, or built-in curves.
std::optional<std::string> costs_of(const report::CellResult& row) {
  return row.costs == "analytic" ? std::optional(std::string(kDataSheet)) : std::nullopt;
}

class PageCellBuilder {
 public:
  PageCellBuilder(const std::vector<report::CellResult>& rows, core::StopToken stop)
      : rows_(rows), stop_(stop), cells_(rows.size()), known_(rows.size()) {
    for (std::size_t i = 0; i < rows.size(); ++i) index_.emplace(key(rows[i]), i);
  }

  /// Runs batch by batch until the page is full, so that the outcome does not depend on threads.
  std::vector<report::PageCell> tell(const std::vector<std::string>& files) {
    for (std::size_t from = 0; from < files.size() && bytes_ <= kMostBytesOfPage; from += kBatch) {
      std::vector<FileCell> told(std::min(kBatch, files.size() - from));
      core::parallel_for(told.size(), [&](std::size_t i) { told[i] = tell_safely(files[from + i]); });
      stop_.check();
      for (FileCell& one : told) keep(std::move(one));
    }
    if (!files.empty()) say_why();
    return std::move(cells_);
  }

 private:
  FileCell tell_safely(const std::string& file) {
    if (stop_.requested()) return {};
    try {
      return tell_one(file);
    } catch (const core::InterruptedError&) {
      return {};  // the caller rethrows it
    } catch (const core::Error& e) {
      return {{}, {}, e.what()};
    }
  }

  FileCell tell_one(const std::string& file) {
    const std::string text = core::read_file(file);
    const plan::PlanHead head = plan::parse_plan_head(text, file);
    const graph::OpGraph graph = load_model(head.model);
    plan::Plan plan = plan::parse_plan(text, file, graph);
    plan.model = head.model;
    plan.cluster = head.cluster;
    const std::optional<ScoringSetting> stated = judgement(file);
    ScoringSetting judged = stated.value_or(ScoringSetting{});
    judged.simulation.stop = stop_;
    Cell cell{plan.model, plan.cluster, {}, plan.training, {}};
    cell.perturbation = judged.perturbation;
    report::CellResult row = describe(cell);
    row.planner = plan.planner;
    row.setting = judged.setting;
    const auto found = index_.find(key(row));
    if (found == index_.end()) return {};
    if (!stated) judged.costs = costs_of(rows_[found->second]);
    const auto costs = costs_.get(judged.costs);
    const cluster::Cluster cluster = cost::measured_by(*costs, load_cluster(head.cluster));
    const cost::Problem problem{graph, cluster, *costs, plan.training, judged.memory};
    std::optional<sim::Perturbation> perturbation;
    if (judged.perturbation) perturbation = sim::load_perturbation(*judged.perturbation, cluster);
    judged.simulation.perturbation = perturbation ? &*perturbation : nullptr;
    return {found->second, page_cell(problem, plan, judged.simulation, rows_[found->second]), ""};
  }

  /// Key of a row. A model file counts by its name, because its path differs from other folders.
  static report::About key(report::CellResult row) {
    if (is_model_file(row.model)) row.model = fs::path(row.model).filename().string();
    return report::about(row);
  }

  /// Stores a result; of two files for one row the first counts.
  void keep(FileCell told) {
    if (fault_.empty()) fault_ = told.fault;
    if (!told.row || known_[*told.row]) return;
    if (bytes_ + told.cell.data.size() > kMostBytesOfPage) {
      bytes_ = kMostBytesOfPage + 1;
      return;
    }
    bytes_ += told.cell.data.size();
    known_[*told.row] = true;
    cells_[*told.row] = std::move(told.cell);
  }

  /// Adds notes to rows that have neither data nor note.
  void say_why() {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (known_[i] || !rows_[i].iteration_s) continue;
      cells_[i].note = bytes_ > kMostBytesOfPage ? kNoRoom
                       : fault_.empty()          ? "No drawings: plans/ has no plan of this row."
                                                 : "No drawings: a plan file cannot be used. " + fault_;
    }
  }

  const std::vector<report::CellResult>& rows_;
  core::StopToken stop_;
  std::map<report::About, std::size_t> index_;
  CostShelf costs_;
  std::vector<report::PageCell> cells_;
  std::vector<bool> known_;  ///< cells that have a result
  std::size_t bytes_ = 0;    ///< bytes of drawings
  std::string fault_;        ///< error of the first unusable file
};

}  // namespace

report::PageCell page_cell(const cost::Problem& problem, plan::Plan plan,
                           const sim::SimulationOptions& simulation, const report::CellResult& row) {
  try {
    check(problem, plan);
    const report::CellData data = told(problem, plan, simulation);
    return {report::packed(data), difference(row, to_seconds(data.trace.iteration))};
  } catch (const core::InterruptedError&) {
    throw;
  } catch (const core::Error& e) {
    return {"", fmt::format("No drawings: {}", e.what())};
  }
}

std::vector<report::PageCell> page_cells(const std::string& folder,
                                         const std::vector<report::CellResult>& rows, core::StopToken stop) {
  return PageCellBuilder(rows, stop).tell(in_order(plan_files(folder), rows));
}

}  // namespace penstock::experiment
