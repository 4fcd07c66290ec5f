#pragma once
// An experiment file: what is compared on what.

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

/// The most cells of an experiment that is read.
inline constexpr std::size_t kMostCells = 100'000;
/// The most that memory counts of anything.
inline constexpr std::int64_t kMostCopies = 1000;

/// How a planner searches, as planners::SearchOptions says.
struct Search {
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
  std::optional<std::int64_t> micro_batch;  ///< pinned, of a replica; default: the planner sweeps
  Search search{};
  std::optional<std::int64_t> pipeline_micro_batch{};  ///< pinned instead, as planners::SearchOptions
  std::string schedule{};                     ///< the plan runs in this order instead of the planner's
  std::optional<std::string> perturbation{};  ///< file: the plan, made without it, runs under it
  sim::SimulationOptions simulation{};
  std::string cluster_label{}, planner_label{};  ///< names in tables; "": scenario_name(), the planner
  /// What the file's further axes have here, as it writes them: {"network", "fifo"}.
  std::vector<std::pair<std::string, std::string>> setting{};
};

struct Spec {
  std::string name;
  std::string summary;
  std::optional<std::string> costs;         ///< profile or calibration file; default: analytic
  bool choose_by_simulation = true;         ///< how the best micro-batch size is picked; else by estimate
  std::optional<core::Seconds> time_limit;  ///< of each cell's search; default: none
  std::optional<core::Bytes> memory_limit;  ///< of each search
  bool one_by_one = false;  ///< each search has all threads for itself: its time and memory are its own
  /// Always, where memory is limited.
  bool searches_one_by_one() const { return one_by_one || memory_limit; }
  cost::MemoryRule memory;  ///< how memory is counted
  std::string baseline;     ///< planner the ratios divide by, as planners::written; empty: no ratios
  std::vector<Cell> cells;  ///< model by model, devices, mini-batch, further axes, planner: as in the file
  std::vector<report::Claim> claims;
  std::shared_ptr<const Snapshot> inputs = std::make_shared<Snapshot>();  ///< of its cells
};

/// "KEY=VALUE": a dotted path into the file (core::Yaml::set) and what shall stand there instead.
using Overrides = std::vector<std::string>;

/// File form (docs/formats/experiment.md). Throws BadInput with file, line and key; checks everything that
/// can be checked before anything runs: models build, clusters load, device counts exist, micro-batches
/// divide.
Spec load_spec(const std::string& path, const Overrides& overrides = {});
/// Reads a spec from text; `path` names it in messages, and files it mentions are relative to that path's
/// folder.
Spec parse_spec(const std::string& text, const std::string& path, const Overrides& overrides = {});
/// The same from a text and files that another process has read (Snapshot::texts).
Spec parse_spec(const std::string& text, const std::string& path, const Overrides& overrides,
                const Snapshot::Texts& files);

/// "mmt-summit-8-graphpipe-128": names the files of a cell; options of the planner, model parameters and
/// the setting are part of it. Long names end in a digest of all of it instead: at most 200 bytes.
std::string cell_name(const Cell& cell);

/// "llama layers=2", what rows call the model: its label, or its name with parameters.
std::string model_name(const plan::ModelRef& model);
/// "joint:change=cuts", what rows call the planner: its label, or its name with options.
std::string planner_name(const Cell& cell);
/// "summit", or "summit~bad_day" with a perturbation, what rows call the cluster; or its label.
std::string scenario_name(const Cell& cell);

/// "optimizer=adam network=fifo"; empty where the file has no further axes.
std::string setting_text(const Cell& cell);

}  // namespace penstock::experiment
