#pragma once
// An experiment file: what is compared on what.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/cost/stage_load.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/report/claims.hpp"
#include "penstock/report/results.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::experiment {

/// One point of the grid.
struct Cell {
  plan::ModelRef model;
  plan::ClusterRef cluster;
  planners::PlannerChoice planner;
  plan::Training training;
  std::optional<std::int64_t> micro_batch;    ///< pinned; default: the planner sweeps
  bool per_stage_micro_batch = false;         ///< as planners::SearchOptions
  bool any_degree = false;                    ///< likewise
  int k = 1;                                  ///< likewise
  std::string schedule{};                     ///< the plan runs in this order instead of the planner's
  std::optional<std::string> imperfection{};  ///< file: the plan, made for a perfect world, runs in this one
};

struct Spec {
  std::string name;
  std::string summary;
  std::optional<std::string> costs;         ///< profile or calibration file; default: analytic
  bool choose_by_simulation = true;         ///< how the best micro-batch size is picked; else by estimate
  std::optional<core::Seconds> time_limit;  ///< of each cell's search; default: none
  cost::MemoryRule memory;                  ///< how memory is counted
  sim::SimulationOptions simulation;
  std::string baseline;     ///< planner the ratios divide by, as planners::written; empty: no ratios
  std::vector<Cell> cells;  ///< model by model, devices, mini-batch, planner: the order of the file
  std::vector<report::Claim> claims;
};

/// File form (experiments/README.md). Throws BadInput with file, line and key; checks everything that can be
/// checked before anything runs: models build, clusters load, device counts exist, micro-batches divide.
Spec load_spec(const std::string& path);
/// The same from text; `path` names it in messages, and files it mentions are relative to that path's folder.
Spec parse_spec(const std::string& text, const std::string& path);

/// "mmt-summit-8-graphpipe-128": names the files of a cell; options of the planner and model parameters are
/// part of it.
std::string cell_name(const Cell& cell);

/// "summit", or "summit~bad_day" with an imperfection: what rows call the cluster.
std::string world_name(const Cell& cell);

/// "graphpipe", or "graphpipe per-stage any-degree k=2": what rows call the planner.
std::string planner_name(const Cell& cell);

/// A row with what names the cell, and nothing else.
report::CellResult identify(const Cell& cell);

}  // namespace penstock::experiment
