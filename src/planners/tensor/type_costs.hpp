#pragma once
// Costs of the partition types of a single-stage plan, operator by operator.

#include <optional>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::planners {

inline constexpr int kPartitions = 4;  ///< number of plan::Partition values
inline constexpr int kLayouts = 3;     ///< number of layout::Placement values within a stage

/// Seconds per iteration; sums over operators equal lone_stage_seconds on one device.
class TypeCosts {
 public:
  /// Uses the stage's devices, group size, shares and micro-batch count. `problem` must outlive it.
  TypeCosts(const cost::Problem& problem, const plan::Stage& stage);

  /// Devices of a group whose time counts; of several, the slowest at every operator.
  struct GroupClock {
    std::size_t replica;
    cost::GroupTimes times;
    std::vector<std::size_t> members;
    core::Seconds launch{};  ///< of the slowest host: a collective takes at least this long
    core::Seconds time(const layout::GroupCollective& collective, std::int64_t samples) const {
      return std::max(times.time(collective, samples), launch);
    }
  };
  /// Among groups with equal device types, the one with the slowest links: one clock for each kind of device
  /// in it, and one for all.
  const std::vector<GroupClock>& clocks() const { return clocks_; }

  /// Compute, own collectives and update.
  double own(const GroupClock& clock, core::OpId op, plan::Partition how) const;
  /// Update time without any weights, which every device has; `own` is in addition to it.
  double least_update(const GroupClock& clock) const;
  double conversion(const GroupClock& clock, core::OpId producer, layout::Placement from,
                    layout::Placement to) const;

  /// Ways to reduce gradients: latency and time per byte of each.
  using Ways = std::vector<cost::AffineTime>;
  /// The last way is for no gradients: its cost per byte is infinite.
  const Ways& among_replicas() const { return among_replicas_; }
  const Ways& among_all() const { return among_all_; }  ///< for operators divided by samples
  /// Bytes of weights on the device with the largest part.
  double weights(core::OpId op, plan::Partition how) const;
  /// Bytes of weights, gradients, state and activations there, without copies of its inputs.
  double held(core::OpId op, plan::Partition how) const;
  /// Bytes of a tensor that is also held in another placement.
  double copied(core::OpId producer, layout::Placement from, layout::Placement to) const;

 private:
  void add_clocks(std::size_t replica);
  void find_ways();
  plan::Stage alone(core::OpId op, plan::Partition how) const;
  /// Load of the operator by itself: tied operators are in the same stage.
  cost::StageLoad load(core::OpId op, plan::Partition how, std::optional<std::size_t> member = {}) const;

  const cost::Problem& problem_;
  plan::Stage stage_;  ///< without operators
  std::int64_t micro_batches_;
  std::int64_t samples_;  ///< samples per group and micro-batch
  std::vector<GroupClock> clocks_;
  Ways among_replicas_, among_all_;
};

}  // namespace penstock::planners
