#pragma once
// Piper's cost model, with prefix sums so that a stage between two downsets is evaluated in a few steps.

#include "penstock/graph/piper_graph.hpp"
#include "piper/piper_knapsack.hpp"
#include "piper/piper_lattice.hpp"

namespace penstock::planners {

/// Where a layer may run in its slower configuration, which needs less memory.
enum class RecomputeMode { never, per_layer, per_stage, always };

/// Seconds per micro-batch of a stage. With C the bytes that enter or leave it, w its weights:
///     load = (time + 2 C / B + 4 (d - 1) w / (N B)) / d
/// Every edge is charged at both its ends. Source: Piper (NeurIPS 2021), as its public program computes it.
inline double piper_load(double time, double crossing_bytes, double weights, int data_degree,
                         const graph::PiperSetting& setting) {
  const double d = data_degree;
  const double moved = 2 * crossing_bytes + 4 * (d - 1) * weights / setting.micro_batches;
  return (time + moved / setting.bandwidth) / d;
}

/// Micro-batches in flight on a replica of a stage with `data_degree` replicas; `degrees` is the total from
/// this stage on.
inline int piper_in_flight(int degrees, int data_degree) {
  return (degrees + data_degree - 1) / data_degree;
}

struct PiperRules {
  KnapsackRule knapsack = KnapsackRule::exact;
  RecomputeMode recompute = RecomputeMode::per_layer;
  bool data_parallel = true;
  bool powers_of_two = false;  ///< data-parallel degrees
  bool tensor_parallel = true;
};

/// A stage: the layers between two prefixes, on tensor_degrees()[t] devices per replica.
struct StageRef {
  std::size_t i = 0;  ///< smaller prefix
  std::size_t j = 0;  ///< larger prefix, with a lower number
  std::size_t t = 0;
};

class PiperCosts {
 public:
  /// Throws a limit error if the tables by micro-batches in flight would exceed 2^26 entries.
  PiperCosts(const graph::PiperWorkload& workload, const PiperLattice& lattice, const PiperRules& rules,
             core::StopToken stop);

  const graph::PiperSetting& setting() const { return setting_; }
  const std::vector<int>& tensor_degrees() const { return tensor_degrees_; }
  const std::vector<int>& data_degrees() const { return data_degrees_; }  ///< divisors of N, ascending
  int most_replicas() const { return most_replicas_; }  ///< total over all stages: min(N, K)

  /// Minimum seconds of device time for the layers behind prefix i, whatever their stages.
  double work(std::size_t i) const { return work_[i]; }
  /// Minimum seconds of replica time for the layers behind prefix i.
  double replica_work(std::size_t i) const { return replica_work_[i]; }

  bool offered(const StageRef& stage) const {
    return at(stage.t, stage.i).missing == at(stage.t, stage.j).missing;
  }
  double least_time(const StageRef& stage) const {
    return at(stage.t, stage.i).fast.time - at(stage.t, stage.j).fast.time;
  }
  double crossing_bytes(const StageRef& stage) const;

  /// Bytes on a device of the stage, with the configurations that need the least memory.
  double least_memory(const StageRef& stage, int in_flight) const;

  /// True if the stage stays within `load` seconds per micro-batch and the memory, to a relative 2e-13 of the
  /// load. `slower` receives the layers that run in their slower configuration.
  bool fits(const StageRef& stage, double crossing_bytes, int data_degree, int in_flight, double load,
            std::vector<graph::Vertex>& slower) const;

  /// True if no stage with at least this many bytes fits.
  bool too_full(double memory) const { return memory > setting_.memory * (1 + 2e-13); }

  /// Configuration (index in the workload) of layer v.
  int configuration(graph::Vertex v, std::size_t t, bool slower) const {
    return layer(t, v).index[slower ? 1 : 0];
  }

 private:
  struct LayerConfiguration {
    double time = 0, per_micro_batch = 0, fixed = 0;
    double memory(int in_flight) const { return per_micro_batch * in_flight + fixed; }
  };
  struct LayerEntry {
    bool offered = false;
    double weights = 0;
    LayerConfiguration way[2];  ///< faster, slower; equal if there is only one
    int index[2] = {0, 0};
  };
  struct SuffixTotals {  ///< sums over the layers behind a prefix
    LayerConfiguration fast, slow;
    double weights = 0;
    int missing = 0;  ///< layers without the degree
  };
  struct EdgeTraffic {
    graph::Vertex from, to;
    std::vector<double> leaving, entering;  ///< [t] bytes, including the edge's own
  };

  const LayerEntry& layer(std::size_t t, graph::Vertex v) const {
    return layers_[t * layer_count_ + static_cast<std::size_t>(v)];
  }
  const SuffixTotals& at(std::size_t t, std::size_t i) const { return totals_[t * lattice_.size() + i]; }
  void choose_degrees(const graph::PiperWorkload& workload, const PiperRules& rules);
  LayerEntry read_layer(const graph::PiperLayer& layer, int degree) const;
  void read_edges(const graph::PiperWorkload& workload, core::StopToken stop);
  void sum(core::StopToken stop);
  void list_swaps(std::size_t t, int in_flight);
  void list_thriftiest(std::size_t t, int in_flight);
  std::size_t slot(std::size_t t, int in_flight) const {
    return t * static_cast<std::size_t>(most_replicas_) + static_cast<std::size_t>(in_flight) - 1;
  }
  bool fits_with_swaps(const StageRef& stage, int in_flight, double excess, double budget,
                       std::vector<graph::Vertex>& slower) const;

  const PiperLattice& lattice_;
  PiperRules rules_;
  graph::PiperSetting setting_;
  std::size_t layer_count_;
  int most_replicas_;
  std::vector<int> tensor_degrees_, data_degrees_;
  std::vector<LayerEntry> layers_;    ///< [t][layer]
  std::vector<SuffixTotals> totals_;  ///< [t][prefix]
  std::vector<double> work_, replica_work_;
  std::vector<EdgeTraffic> ends_;
  std::vector<std::vector<std::uint32_t>> cut_;  ///< [prefix] edges that leave it
  std::vector<std::vector<LayerSwap>> swaps_;    ///< [slot] sorted
  std::vector<double> thriftiest_;  ///< [slot][prefix] bytes behind it, with each layer at its minimum
};

}  // namespace penstock::planners
