#pragma once
// Piper's problem: the straight pipeline of least time per micro-batch, over all partitions of a DAG.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/graph/piper_graph.hpp"
#include "piper/piper_costs.hpp"

namespace penstock::planners {

struct PiperOptions {
  PiperRules rules;
  /// Count filling and draining: minimise (N + stages - 1) times the time per micro-batch (Huang et al.,
  /// "GPipe", NeurIPS 2019, section 2.3: bubble (L - 1) / (N + L - 1)) instead of N times. Ours; Piper has
  /// none.
  bool flush = false;
  bool all_devices = false;  ///< leave no device idle
  double below =
      std::numeric_limits<double>::infinity();  ///< seconds of an iteration: slower plans may be missed
  double give_up =
      std::numeric_limits<double>::infinity();  ///< so may plans of which a device computes so long
};

struct PiperStage {
  std::vector<graph::Vertex> layers;  ///< ascending
  std::vector<int> configurations;    ///< [position in layers]: index in PiperDegree::configurations
  int data_degree = 1;
  int tensor_degree = 1;
};

struct PiperPlan {
  std::vector<PiperStage> stages;   ///< in pipeline order
  double time_per_micro_batch = 0;  ///< seconds, of the slowest stage
  double iteration = 0;             ///< seconds: N times that, or what `flush` says
  std::uint64_t states = 0;  ///< (prefix, devices, replicas) triples kept, over all rounds of the search
  bool complete = true;      ///< false: the best until a limit
};

/// Seconds per micro-batch of the slowest stage, summed stage by stage.
double piper_time(const graph::PiperWorkload& workload, const std::vector<PiperStage>& stages);

/// The best plan (to a relative 1e-12; at a limit, so far), or none when none fits. Throws a limit error on
/// too many downsets, Interrupted when stopped. Deterministic for any thread count.
///
/// Tarnawski, Narayanan, Phanishayee, "Piper", NeurIPS 2021, section 4, has a table over (downset, devices,
/// replicas) whose entries are times. Ours turns it round: for a given time, a dynamic programme over the
/// downsets keeps the (devices, replicas) pairs with which the rest of the pipeline keeps within it, the
/// dominated ones left out; a search over the time surrounds it. The same optimum: with fewer replicas behind
/// it a stage has fewer micro-batches in flight, so it fits wherever it fitted.
std::optional<PiperPlan> piper_search(const graph::PiperWorkload& workload, const PiperLattice& lattice,
                                      const PiperOptions& options, core::StopToken stop);
/// The same over all downsets of the workload.
std::optional<PiperPlan> piper_search(const graph::PiperWorkload& workload, const PiperOptions& options,
                                      core::StopToken stop);

}  // namespace penstock::planners
