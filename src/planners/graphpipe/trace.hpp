#pragma once
// Reconstructs the stages from a solved table.

#include <functional>

#include "graphpipe/head_parts.hpp"
#include "graphpipe/partition.hpp"

namespace penstock::planners {

/// Repeats the enumerations of the forward pass and follows the first choice that attains each value. Tables
/// exist for one instance of each kind of branch; stages are recorded for the actual instance.
class Trace {
 public:
  explicit Trace(Partition& partition) : p_(partition) {}
  std::vector<PartStage> run(Partition::Tail& whole, int config);

 private:
  using Tail = Partition::Tail;
  /// A solved tail and the sequence it is used for.
  struct Place {
    Tail& tail;
    int sequence;
  };
  /// Assigns the branches of one opened block.
  struct Instances {
    const Block& block;
    Selection used;
    int next(std::size_t kind) { return block.kinds[kind].instances[static_cast<std::size_t>(used[kind]++)]; }
  };
  struct FirstStage {
    Partition::Start start;
    int next = 0;  ///< configuration downstream
  };

  void from(Place place, int p, int config, int devices);
  void opened(Place place, int element, int front, int front_stage, int config, int devices);
  void heads(Place place, int element, int front, int back, Boundary downstream, int front_stage,
             int back_stage, int config, int devices);
  /// One of the rows side by side in a block: its cost and how to record its stages.
  struct Component {
    const LevelRow* row;
    std::function<void(int devices)> write;
  };
  void share(std::vector<Component> components, int config, int devices, Level target);
  std::vector<Component> components(int block, const HeadParts& parts, Instances& instances,
                                    Boundary downstream, int front_stage, int back_stage, int config);
  void rest(int block, Instances& instances, const Selection& selection, Boundary downstream, int config,
            int devices);
  void rest_group(int block, Instances& instances, const Selection& selection, Boundary downstream,
                  int config, int devices, Level target);

  /// Downstream configuration from which the stage attains the target.
  std::optional<int> next(const Partition::Start& start, const LevelRow& downstream, int devices,
                          Level target) const;
  std::optional<FirstStage> first_stage(Tail& tail, int p, int back, int config, int devices, Level target);
  /// Records the stage and follows what is behind it; returns its index.
  int add_stage(Place place, int p, const FirstStage& first, int config);
  void follow(Place place, const FirstStage& first, int stage, int devices);
  void add_group(int stage, const Selection& selection, Instances& instances);
  void add_range(int stage, int sequence, int first_element, int last_element);

  Partition& p_;
  std::vector<PartStage> stages_;
};

}  // namespace penstock::planners
