#include "penstock/experiment/remote.hpp"

#include <chrono>

#include "cache.hpp"
#include "owner.hpp"
#include "penstock/core/digest.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/plan/plan_file.hpp"
#include "resolved.hpp"
#include "selection.hpp"
#include "start_answer.hpp"

namespace penstock::experiment {
namespace {

std::vector<std::string> written(const std::vector<planners::PlannerChoice>& planners) {
  std::vector<std::string> out;
  for (const auto& planner : planners) out.push_back(planners::written(planner));
  return out;
}

void add_starts(const Spec& spec, const Cell& cell, RemoteCell& told) {
  if (cell.planner.name != "joint" || spec.time_limit || spec.memory_limit) return;
  const auto questions = joint_questions(spec, cell, *spec.inputs->costs(spec.costs));
  told.first = written(questions.first);
  told.then = written(questions.then);
}

/// Returns the answers that exist.
Known known(const graph::OpGraph& graph, const Answers& answers) {
  if (answers.empty()) return {};
  return [&](const planners::PlannerChoice& planner) -> std::optional<planners::SearchResult> {
    const auto found = answers.find(planners::written(planner));
    if (found == answers.end()) return std::nullopt;
    return answered(graph, found->second);
  };
}

RemoteCell remote_cell(const Spec& spec, std::size_t i, const std::string& key, const RunOptions& options) {
  const Cell& cell = spec.cells[i];
  plan::Plan names;
  names.model = cell.model, names.cluster = cell.cluster;
  names = plan::written_to(options.folder + "/plans/" + cell_name(cell) + ".yaml", std::move(names));
  RemoteCell out{i, cell_name(cell), key, names.model.name, names.cluster.name, {}, {}};
  add_starts(spec, cell, out);
  return out;
}

/// Returns the cell if its inputs are byte-identical to the leader's.
const Cell& checked(const Spec& spec, const RemoteCell& told, const RunOptions& options) {
  if (told.cell >= spec.cells.size() ||
      core::digest(resolved(spec, spec.cells[told.cell], options.program)) != told.key)
    throw core::BadInput("cell " + told.name + ": this process is of another build (" + options.program +
                         "), or reads other files, than the one that leads the run");
  return spec.cells[told.cell];
}

}  // namespace

std::vector<RemoteCell> remote_cells(const Spec& spec, const RunOptions& options) {
  check_owner(options.folder, spec.name);
  const CellCache cache(options.cache_folder());
  const std::vector<bool> wanted = fitting(options.only, spec.cells);
  std::vector<RemoteCell> out;
  for (std::size_t i = 0; i < spec.cells.size(); ++i) {
    if (!wanted[i] || is_order_file(spec.cells[i].schedule)) continue;
    const std::string key = core::digest(resolved(spec, spec.cells[i], options.program));
    const auto entry = cache.find(key);
    if (!entry || !lasting(entry->row)) out.push_back(remote_cell(spec, i, key, options));
  }
  return out;
}

std::string run_start(const Spec& spec, const RemoteCell& told, const std::string& planner,
                      const Answers& answers, const RunOptions& options, core::StopToken stop) {
  const Cell& cell = checked(spec, told, options);
  try {
    const auto costs = spec.inputs->costs(spec.costs);
    const graph::OpGraph& graph = spec.inputs->model(cell.model);
    return to_text(graph, joint_answer(spec, cell, planners::planner_choice(planner), *costs, stop,
                                       known(graph, answers)));
  } catch (const core::InterruptedError&) {
    throw;
  } catch (const core::Error& error) {
    return to_text(error);
  }
}

RemoteEntry run_remote(const Spec& spec, const RemoteCell& told, const Answers& answers,
                       const RunOptions& options, core::StopToken stop) {
  const Cell& cell = checked(spec, told, options);
  const Known there = known(spec.inputs->model(cell.model), answers);
  CellOutcome outcome = try_cell(spec, cell, *spec.inputs->costs(spec.costs), stop, there);
  if (outcome.plan) outcome.plan->model.name = told.model, outcome.plan->cluster.name = told.cluster;
  CacheEntry entry = entry_of(*spec.inputs, cell, outcome);
  entry.row.date = options.provenance.date;
  entry.row.hardware = options.provenance.hardware;
  return {encode(entry, told.key), outcome.error};
}

report::CellResult take_in(const RunOptions& options, const RemoteCell& cell, const std::string& text) {
  const auto entry = decode(text, cell.key);
  if (!entry) throw core::BadInput("cell " + cell.name + ": what came back is damaged, or another cell's");
  const CellCache cache(options.cache_folder());
  cache.forget(cell.key);
  if (entry->row.search_s) cache.remember(cell.name, *entry->row.search_s);
  if (out_of_memory(entry->row)) return entry->row;
  if (auto claim = cache.claim(cell.key)) cache.store(std::move(*claim), *entry);
  return entry->row;
}

}  // namespace penstock::experiment
