#pragma once
// PipeDream's dynamic programme, level by level of a hierarchical network.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "penstock/core/stop.hpp"
#include "pipedream/pipedream_states.hpp"

namespace penstock::planners {

/// Machines of one level, each consisting of all the machines of the level inside.
struct PipedreamLevel {
  int machines = 1;
  double bandwidth = 0;       ///< B/s between them
  std::vector<int> replicas;  ///< allowed counts, ascending; empty: any
};

/// A (replicated) stage at some level: layers done in state `last` but not before `first`.
struct PipedreamStage {
  std::size_t first = 0;
  std::size_t last = 0;
  int replicas = 1;
  std::vector<PipedreamStage>
      inside;  ///< split of each replica over the machines inside; empty at the innermost level
};

/// A stage for the memory rule; counts are machines of its level.
struct StageUse {
  std::size_t level = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  int machines = 1;
  int behind = 0;  ///< machines of the stages after it
};

enum class PipedreamForm {
  code,   ///< the public optimizer: see below
  paper,  ///< SOSP 2019, section 3.1
};

struct PipedreamRules {
  PipedreamForm form = PipedreamForm::code;
  std::optional<double> compression = 1.0;  ///< divisor of transferred bytes; none: transfers are free
  bool straight = false;                    ///< stages are not replicated
  bool nested =
      false;  ///< Stages only between a cut and one it leads to, also at the start of an inner pipeline.
  bool fewer_machines = false;  ///< machines may stay idle
  /// Micro-batches per update; 0: replicas synchronise after each backward pass, as in PipeDream.
  double update_every = 0;
  std::function<bool(const StageUse&)> fits;  ///< whether a stage fits; empty: always. Called from any thread
};

struct PipedreamResult {
  double seconds = 0;  ///< per micro-batch, of the slowest stage
  std::vector<PipedreamStage> stages;
  std::uint64_t states = 0;  ///< entries of the tables
};

/// Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training", SOSP 2019, section 3.1.
/// Minimises the time of the slowest stage over all splits of the row into stages and of the machines over
/// them. A stage of one level is the optimum of the level inside. With c the compute of a stage, w its
/// weights, m its replicas, a the bytes across a cut, B the bandwidth:
///   paper: max(c, 2 (m-1) w / B) / m, and 2 a / B at each cut between stages;
///   code: (c + 4 (m-1) w / (B m)) / m, and 2 a / (B m) at the cuts on both sides. If one stage uses all
///     machines of a level, weights are further divided by the machine count of the level inside.
/// As in the code, and unless the rules state otherwise, the cost of an interval between any two cuts is the
/// difference of their sums, nested or not. Exact. Each entry considers only cuts between two bounds. Stages
/// that start at or before a cut take at least the minimum of them, and so do pipelines that end at or behind
/// one. PipeDream's O(N^3 M^2) scan becomes nearly O(N^2 M^2). Ties: the first cut, then the fewest replicas
/// of the last stage, whatever the thread count. Returns nothing if no plan fits. Throws InterruptedError when
/// stopped.
std::optional<PipedreamResult> pipedream_search(const std::vector<CutState>& states,
                                                const std::vector<PipedreamLevel>& levels,
                                                const PipedreamRules& rules, core::StopToken stop = {});

/// Memory rule of the public optimizer: the copies of weights and activations stashed for the machines behind
/// a stage must not exceed `bytes`. The copy in use, gradients and optimizer state are not counted.
std::function<bool(const StageUse&)> stash_rule(const std::vector<CutState>& states, double bytes);

}  // namespace penstock::planners
