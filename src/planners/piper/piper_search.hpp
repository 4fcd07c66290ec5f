#pragma once
// Piper's problem: the sequential pipeline with the minimum time per micro-batch, over all partitions of a
// DAG.

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
  /// Include filling and draining: minimise (N + stages - 1), not N, times the time per micro-batch. An
  /// addition of ours, after Huang et al. ("GPipe", NeurIPS 2019, section 2.3: bubble (L - 1) / (N + L - 1)).
  bool flush = false;
  bool all_devices = false;  ///< use every device
  double below =
      std::numeric_limits<double>::infinity();  ///< seconds of an iteration: slower plans may be missed
  /// Cutoff in seconds: plans in which a device computes this long may be missed.
  double give_up = std::numeric_limits<double>::infinity();
};

struct PiperStage {
  std::vector<graph::Vertex> layers;  ///< ascending
  std::vector<int> configurations;    ///< [position in layers] index in PiperDegree::configurations
  int data_degree = 1;
  int tensor_degree = 1;
};

struct PiperPlan {
  std::vector<PiperStage> stages;   ///< in pipeline order
  double time_per_micro_batch = 0;  ///< seconds, of the slowest stage
  double iteration = 0;             ///< seconds: N times that, or as `flush` states
  std::uint64_t states = 0;  ///< (prefix, devices, replicas) triples stored, over all rounds of the search
  bool complete = true;      ///< false: the best before a limit
};

/// Seconds per micro-batch of the slowest stage, summed stage by stage.
double piper_time(const graph::PiperWorkload& workload, const std::vector<PiperStage>& stages);

/// Returns the best plan (to a relative 1e-12; the best so far at a limit), or nothing if none fits. Throws a
/// limit error for too many downsets, InterruptedError when stopped. Independent of the thread count.
///
/// Tarnawski, Narayanan, Phanishayee, "Piper", NeurIPS 2021, section 4, has a table over (downset, devices,
/// replicas) whose entries are times. Ours inverts it. For a given time, a dynamic programme over the
/// downsets keeps the (devices, replicas) pairs with which the rest of the pipeline stays within it, without
/// dominated ones. A search over the time is around it. The optimum is equal: with fewer replicas behind it a
/// stage has fewer micro-batches in flight, so it still fits.
std::optional<PiperPlan> piper_search(const graph::PiperWorkload& workload, const PiperLattice& lattice,
                                      const PiperOptions& options, core::StopToken stop);
/// Searches over all downsets of the workload.
std::optional<PiperPlan> piper_search(const graph::PiperWorkload& workload, const PiperOptions& options,
                                      core::StopToken stop);

}  // namespace penstock::planners
