#pragma once
// DAPPLE's partition, replication and placement of a row of layers.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "penstock/core/stop.hpp"
#include "rows/dapple_latency.hpp"
#include "rows/placement.hpp"

namespace penstock::planners {

/// Costs for the search. Devices are numbered machine by machine. The index of a range of layers is begin *
/// (layers + 1) + end.
struct DappleCosts {
  int layers = 0;
  int micro_batches = 1;
  Occupancy machines;         ///< [machine] devices
  std::vector<int> replicas;  ///< replica counts that a stage may have
  /// Costs of every range on a set of devices, ascending; valid as long as these costs.
  std::function<const SliceCosts*(const std::vector<int>& devices)> stage;
  /// [cut] transfer from the first set to the second and back; valid as long as these costs.
  std::function<const std::vector<PhaseTimes>*(const std::vector<int>& front, const std::vector<int>& behind)>
      transfer;
  /// [cut] minimum device-seconds of all layers before it, for a micro-batch: forward; both passes.
  std::vector<double> least_forward, least_both;
  double give_up =
      std::numeric_limits<double>::infinity();  ///< cutoff: plans of this latency or more may be missed
  /// Cutoff: plans with a stage that computes this long in total may be missed.
  double most_work = std::numeric_limits<double>::infinity();
};

struct DappleStage {
  int begin = 0, end = 0;
  std::vector<int> devices;  ///< ascending
};

struct DapplePlan {
  std::vector<DappleStage> stages;  ///< front to back
  double latency = 0;
  bool exact = true;         ///< no partial plan was dropped for lack of room
  std::uint64_t states = 0;  ///< partial plans stored
};

/// Minimises the latency over all partitions, replica counts and placements that use every device; nothing if
/// memory or device counts allow none. Stages are placed from the last to the first, so that each has its
/// number of followers: with n behind, it must hold min(n + 1, M) micro-batches. The paper's dynamic
/// programme keeps one plan per (layers, devices, occupied machines). L is no sum, so ours keeps all partial
/// plans that are not dominated in LatencyTail's parts: at most `most_kept` per cut, those with the smallest
/// lower bound.
std::optional<DapplePlan> least_latency(const DappleCosts& costs, int most_kept, core::StopToken stop);

}  // namespace penstock::planners
