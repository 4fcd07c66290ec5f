#pragma once
// Reconstructs the stages from a solved table.

#include <functional>

#include "graphpipe/head_parts.hpp"
#include "graphpipe/partition.hpp"

namespace penstock::planners {

/// Repeats the enumerations of the forward pass and follows the first choice that attains each value. Tables
/// exist for one instance of each kind of branch; stages are recorded for the actual instance.
class SolutionTrace {
 public:
  explicit SolutionTrace(PartitionSearch& partition) : p_(partition) {}
  std::vector<PartStage> run(PartitionSearch::TailSolutions& whole, int config);

 private:
  using TailSolutions = PartitionSearch::TailSolutions;
  /// A solved tail and the sequence it is used for.
  struct TailUse {
    TailSolutions& tail;
    int sequence;
  };
  /// Assigns the branches of one opened block.
  struct BranchInstances {
    const BranchBlock& block;
    Selection used;
    int next(std::size_t kind) { return block.kinds[kind].instances[static_cast<std::size_t>(used[kind]++)]; }
  };
  struct FirstStage {
    PartitionSearch::StageStart start;
    int next = 0;  ///< configuration downstream
  };

  void from(TailUse place, int p, int config, int devices);
  void opened(TailUse place, int element, int front, int front_stage, int config, int devices);
  void heads(TailUse place, int element, int front, int back, StageInterface downstream, int front_stage,
             int back_stage, int config, int devices);
  /// One of the rows side by side in a block: its cost and how to record its stages.
  struct RowComponent {
    const LevelRow* row;
    std::function<void(int devices)> write;
  };
  void share(std::vector<RowComponent> components, int config, int devices, Level target);
  std::vector<RowComponent> components(int block, const HeadParts& parts, BranchInstances& instances,
                                       StageInterface downstream, int front_stage, int back_stage,
                                       int config);
  void rest(int block, BranchInstances& instances, const Selection& selection, StageInterface downstream,
            int config, int devices);
  void rest_group(int block, BranchInstances& instances, const Selection& selection,
                  StageInterface downstream, int config, int devices, Level target);

  /// Downstream configuration from which the stage attains the target.
  std::optional<int> next(const PartitionSearch::StageStart& start, const LevelRow& downstream, int devices,
                          Level target) const;
  std::optional<FirstStage> first_stage(TailSolutions& tail, int p, int back, int config, int devices,
                                        Level target);
  /// Records the stage and follows what is behind it; returns its index.
  int add_stage(TailUse place, int p, const FirstStage& first, int config);
  void follow(TailUse place, const FirstStage& first, int stage, int devices);
  void add_group(int stage, const Selection& selection, BranchInstances& instances);
  void add_range(int stage, int sequence, int first_element, int last_element);

  PartitionSearch& p_;
  std::vector<PartStage> stages_;
};

}  // namespace penstock::planners
