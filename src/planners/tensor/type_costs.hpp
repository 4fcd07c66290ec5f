#pragma once
// What the partition types of a plan's only stage cost an iteration, operator by operator.

#include <optional>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::planners {

inline constexpr int kPartitions = 4;  ///< of plan::Partition
inline constexpr int kLayouts = 3;     ///< of layout::Placement, those within a stage

/// Seconds per iteration; sums over operators are those of lone_stage_seconds on one device.
class TypeCosts {
 public:
  /// Of the stage devices, group size, shares and micro-batch count. `problem` outlives it.
  TypeCosts(const cost::Problem& problem, const plan::Stage& stage);

  /// On which devices of which group time is taken; of several the slowest at every operator.
  struct Clock {
    std::size_t replica;
    cost::GroupTimes times;
    std::vector<std::size_t> members;
    core::Seconds launch{};  ///< at the slowest host: a collective lasts no less
    core::Seconds time(const layout::GroupCollective& collective, std::int64_t samples) const {
      return std::max(times.time(collective, samples), launch);
    }
  };
  /// Of groups with the same types of devices the one with the slowest links; one clock for each kind of
  /// device in it, and one for all.
  const std::vector<Clock>& clocks() const { return clocks_; }

  /// Compute, own collectives and update.
  double own(const Clock& clock, core::OpId op, plan::Partition how) const;
  /// That of no weights at all, which every device has; `own` is beyond it.
  double least_update(const Clock& clock) const;
  double conversion(const Clock& clock, core::OpId producer, layout::Placement from,
                    layout::Placement to) const;

  /// A way to reduce gradients: latency, if there are any, and time per byte.
  using Ways = std::vector<cost::Affine>;
  /// The last one is to have none: bytes cost infinitely much.
  const Ways& among_replicas() const { return among_replicas_; }
  const Ways& among_all() const { return among_all_; }  ///< of operators divided by samples
  /// Bytes of weights on the device with the largest part.
  double weights(core::OpId op, plan::Partition how) const;
  /// Bytes of weights, gradients, state and activations there, but for copies of what it reads.
  double held(core::OpId op, plan::Partition how) const;
  /// Bytes of a tensor that is held in another placement too.
  double copied(core::OpId producer, layout::Placement from, layout::Placement to) const;

 private:
  void add_clocks(std::size_t replica);
  void find_ways();
  plan::Stage alone(core::OpId op, plan::Partition how) const;
  /// Its own: what it is tied to stands in the same stage.
  cost::StageLoad load(core::OpId op, plan::Partition how, std::optional<std::size_t> member = {}) const;

  const cost::Problem& problem_;
  plan::Stage stage_;  ///< without operators
  std::int64_t micro_batches_;
  std::int64_t samples_;  ///< of a group, in a micro-batch
  std::vector<Clock> clocks_;
  Ways among_replicas_, among_all_;
};

}  // namespace penstock::planners
