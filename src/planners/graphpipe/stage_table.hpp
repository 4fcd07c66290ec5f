#pragma once
// Costs of every stage that the search may form: time per sample and capacity.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "graphpipe/arrangement.hpp"
#include "graphpipe/level_row.hpp"
#include "graphpipe/stage_set.hpp"
#include "graphpipe/workspace_table.hpp"
#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/score/estimate.hpp"

namespace penstock::planners {

/// Time of a stage per sample, without the all-reduce: the longer of compute and transfers, which overlap, or
/// their sum.
enum class StageTimeRule : std::uint8_t { longer, sum };
/// How often a stage's time counts its all-reduce.
enum class ReduceFrequency : std::uint8_t { per_iteration, per_micro_batch };

/// Micro-batch sizes and replica counts that the search may choose.
struct StageChoices {
  std::vector<std::int64_t> micro_batches;  ///< ascending
  std::vector<int> replicas;                ///< ascending
  int k = 1;                                ///< kFkB
  StageTimeRule objective = StageTimeRule::longer;
  ReduceFrequency reduced = ReduceFrequency::per_iteration;
  schedule::InFlight in_flight = schedule::InFlight::depth;
  std::optional<std::int64_t> per_replica{};  ///< the only allowed number of samples per replica
  bool possible(std::int64_t micro_batch, int count) const {
    return per_replica ? micro_batch == *per_replica * count : micro_batch >= count;
  }
};

/// Times of every unit for every number of samples per replica, in integer picoseconds: sums over ranges are
/// exact differences of prefix sums. Devices are interchangeable here, so the slowest device type (per unit)
/// and the smallest memory apply to all.
class StageTable {
 public:
  StageTable(const cost::Problem& problem, const UnitGraph& units, const UnitArrangement& arrangement,
             StageChoices choices, core::StopToken stop);

  const StageChoices& choices() const { return choices_; }
  int configs() const { return static_cast<int>(choices_.micro_batches.size()); }
  int devices() const { return static_cast<int>(problem_.cluster.size()); }
  int positions() const { return static_cast<int>(unit_at_.size()); }

  /// Load of a set, from prefix sums and the tensors that cross the ends of its ranges, without the
  /// workspace, which takes longer to compute.
  cost::StageLoad load(const StageSet& set) const;
  cost::MemoryEnvelope workspace(const StageSet& set) const;

  /// Seconds per sample of computing, the minimum over all configurations and replica counts.
  double least_compute(const StageSet& set) const;
  /// Minimum device-seconds per sample of the set, over all choices.
  double least_work(const StageSet& set) const;
  double least_work(PositionRange range) const {
    return work_prefix_[static_cast<std::size_t>(range.end)] -
           work_prefix_[static_cast<std::size_t>(range.begin)];
  }
  double total_work() const { return work_prefix_.back(); }

  /// Seconds per sample of computing with this choice; infinite if a replica would get no sample.
  double compute(const StageSet& set, int config, int replica_index) const;
  /// Time per sample with this choice; infinite if a replica would get no sample.
  double time_per_sample(const StageSet& set, const cost::StageLoad& load, int config,
                         int replica_index) const;
  /// True if the whole mini-batch fits at once, with any choice and an upper bound on workspace.
  bool ample(const StageSet& set, const cost::StageLoad& load) const;
  /// Number of levels that fit in memory with this choice; negative if not even one run of micro-batches
  /// fits.
  Level capacity(const cost::StageLoad& load, int config, int replica_index) const;

  /// The in-flight rule between configurations; `next` = configs() at the end of the network.
  const LevelStep& step(int config, int next) const {
    return steps_[static_cast<std::size_t>(config)][static_cast<std::size_t>(next)];
  }
  std::vector<core::OpId> operators(const StageSet& set) const;  ///< ascending
  const score::AssumedNetwork& network() const { return network_; }
  core::Bytes smallest_memory() const { return memory_; }
  /// Uses this memory for every device from now on.
  void pretend_memory(core::Bytes memory) { memory_ = memory; }

 private:
  /// A tensor made before a cut between positions and read behind it.
  struct CrossingTensor {
    int producer;     ///< position
    int next_reader;  ///< first position behind the cut that reads it
    std::size_t tensor;
    core::Bytes bytes;
  };
  core::Bytes inputs(const StageSet& set) const;
  core::Bytes outputs(const StageSet& set) const;
  core::Bytes most_need(const cost::StageLoad& load, core::Bytes outputs) const;
  void describe_positions(const UnitGraph& units, core::StopToken stop);
  void measure(const UnitGraph& units, core::StopToken stop);
  void fill_steps();
  void find_ties(const std::function<int(graph::Vertex)>& position);
  void add_copies(const StageSet& set, cost::StageLoad& load) const;
  std::int64_t time(const StageSet& set, std::size_t share) const;
  std::int64_t samples(int config, int replica_index) const;

  const cost::Problem& problem_;
  std::vector<int> unit_at_;
  std::vector<std::vector<core::OpId>> operators_at_;  ///< [position]
  StageChoices choices_;
  score::AssumedNetwork network_;
  core::Bytes memory_;
  cluster::FrameworkMemory framework_;
  std::vector<std::vector<CrossingTensor>> crossing_;  ///< [cut] cut in front of that position
  std::vector<std::vector<int>> readers_;              ///< [tensor] positions, ascending
  std::vector<core::Bytes> activations_, statistics_, parameters_, frozen_;  ///< prefix sums over positions
  struct WeightTie {
    core::OpId owner;
    int owner_at, user_at;  ///< positions
    core::Bytes bytes;
  };
  std::vector<WeightTie> ties_;       ///< those of one owner are consecutive
  std::vector<core::Bytes> outputs_;  ///< prefix sums over positions
  core::Bytes whole_need_;            ///< upper bound for the whole network or any part
  cost::MemoryLine around_;           ///< maximum that any operator needs in addition to other gradients
  std::unique_ptr<WorkspaceTable> workspace_;    ///< null if the memory rule counts none
  std::vector<std::vector<std::size_t>> share_;  ///< [config][replicas] index into time_prefix_, or kNoShare
  std::vector<std::vector<std::int64_t>> time_prefix_;  ///< [share][position]
  std::vector<double> work_prefix_;                     ///< [position]
  std::vector<std::vector<LevelStep>> steps_;           ///< [config][next config]
};

/// Faces of all units, for `arrange`.
std::vector<UnitFace> unit_faces(const cost::Problem& problem, const UnitGraph& units,
                                 const StageChoices& choices);

}  // namespace penstock::planners
