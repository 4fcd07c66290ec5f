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

/// Devices are numbered machine by machine. Ranges of layers are at begin * (layers + 1) + end.
struct DappleCosts {
  int layers = 0;
  int micro_batches = 1;
  Occupancy machines;         ///< devices of each
  std::vector<int> replicas;  ///< counts a stage may have
  /// What a set of devices, ascending, makes of every range; alive as long as the costs are.
  std::function<const SliceCosts*(const std::vector<int>& devices)> stage;
  /// By cut: from the first set to the second and back; likewise.
  std::function<const std::vector<PhaseTimes>*(const std::vector<int>& front, const std::vector<int>& behind)>
      transfer;
  /// [cut] device-seconds that all layers before it take at least, for a micro-batch; forward, and both
  /// passes.
  std::vector<double> least_forward, least_both;
  double give_up =
      std::numeric_limits<double>::infinity();  ///< plans of this latency or more are not looked for
  double most_work =
      std::numeric_limits<double>::infinity();  ///< nor those of which a stage computes so long, in all
};

struct DappleStage {
  int begin = 0, end = 0;
  std::vector<int> devices;  ///< ascending
};

struct DapplePlan {
  std::vector<DappleStage> stages;  ///< front to back
  double latency = 0;
  bool exact = true;         ///< no partial plan was dropped for want of room
  std::uint64_t states = 0;  ///< partial plans kept
};

/// The least latency over all partitions, replica counts and placements that use every device; nothing where
/// memory or device counts forbid all. Stages are placed from the last to the first, so that each knows how
/// many follow it: with n behind, it must hold min(n + 1, M) micro-batches. The paper's dynamic programme
/// keeps one plan per (layers, devices, occupied machines); as L is no sum, ours keeps all partial plans that
/// no other beats in each of LatencyTail's parts, at most `most_kept` per cut, those of least lower bound.
std::optional<DapplePlan> least_latency(const DappleCosts& costs, int most_kept, core::StopToken stop);

}  // namespace penstock::planners
