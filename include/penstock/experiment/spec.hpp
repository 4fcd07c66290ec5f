#pragma once
// An experiment file: the cells to compare.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/cost/stage_load.hpp"
#include "penstock/experiment/snapshot.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/report/claims.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::experiment {

/// Maximum number of cells in an experiment file.
inline constexpr std::size_t kMostCells = 100'000;
/// Maximum number of copies that a memory rule may count.
inline constexpr std::int64_t kMostCopies = 1000;

/// Search options, as in planners::SearchOptions.
struct CellSearch {
  bool per_stage_micro_batch = false;
  bool any_degree = false;
  int k = 1;
};

/// One cell: a point of the experiment's axes.
struct Cell {
  plan::ModelRef model;
  plan::ClusterRef cluster;
  planners::PlannerChoice planner;
  plan::Training training;
  std::optional<std::int64_t> micro_batch;  ///< fixed, per replica; default: the planner tries all sizes
  CellSearch search{};
  std::optional<std::int64_t> pipeline_micro_batch{};  ///< fixed instead, as in planners::SearchOptions
  std::string runnable_by{};                  ///< framework that must be able to run the plan; "": any plan
  std::string schedule{};                     ///< order in which the plan runs, instead of the planner's
  std::optional<std::string> perturbation{};  ///< file: the plan runs under it, but is made without it
  sim::SimulationOptions simulation{};
  std::string cluster_label{}, planner_label{};  ///< names in tables; "": scenario_name(), the planner
  /// Values of the file's further axes, as written there: {"network", "fifo"}.
  std::vector<std::pair<std::string, std::string>> setting{};
};

struct Spec {
  std::string name;
  std::string summary;
  std::optional<std::string> costs;         ///< profile or calibration file; default: built-in curves
  bool choose_by_simulation = true;         ///< choose the micro-batch size by simulation; false: by estimate
  std::optional<core::Seconds> time_limit;  ///< for each cell's search; default: none
  std::optional<core::Bytes> memory_limit;  ///< for each search
  /// Each search has all threads, so that its time and memory are measured separately.
  bool one_by_one = false;
  /// True for one_by_one, and with a memory limit.
  bool searches_one_by_one() const { return one_by_one || memory_limit; }
  cost::MemoryRule memory;  ///< rule for counting memory
  std::string baseline;     ///< planner that ratios divide by, as planners::written; empty: no ratios
  std::vector<Cell> cells;  ///< sorted as in the file: model, devices, mini-batch, further axes, planner
  std::vector<report::Claim> claims;
  std::shared_ptr<const InputSnapshot> inputs = std::make_shared<InputSnapshot>();  ///< inputs of the cells
};

/// "KEY=VALUE": a dotted path into the file (core::Yaml::set), and its new value.
using Overrides = std::vector<std::string>;

/// Loads a spec (format: docs/formats/experiment.md). Throws BadInput with file, line and key. Checks
/// everything that can be checked before anything runs: models build, clusters load, device counts exist,
/// micro-batches divide.
Spec load_spec(const std::string& path, const Overrides& overrides = {});
/// Parses a spec from text; `path` names it in messages, and files in it are relative to that path's folder.
Spec parse_spec(const std::string& text, const std::string& path, const Overrides& overrides = {});
/// Parses a text with files that another process has read (InputSnapshot::texts).
Spec parse_spec(const std::string& text, const std::string& path, const Overrides& overrides,
                const InputSnapshot::Texts& files);

/// Name of a cell's files, such as "mmt-summit-8-graphpipe-128". Includes planner options, model parameters
/// and the setting. Long names end in a digest of these instead: at most 200 bytes.
std::string cell_name(const Cell& cell);

/// Name of the model in rows, such as "llama layers=2": its label, or its name with parameters.
std::string model_name(const plan::ModelRef& model);
/// Name of the planner in rows, such as "joint:change=cuts": its label, or its name with options.
std::string planner_name(const Cell& cell);
/// Name of the cluster in rows: "summit", with a perturbation "summit~bad_day", or its label.
std::string scenario_name(const Cell& cell);

/// Returns a text such as "optimizer=adam network=fifo"; empty if the file has no further axes.
std::string setting_text(const Cell& cell);

}  // namespace penstock::experiment
