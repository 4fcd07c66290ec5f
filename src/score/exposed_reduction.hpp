#pragma once
// Part of a stage's all-reduces that its last backward pass does not hide.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "penstock/cost/buckets.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::score {

/// Part of a stage's all-reduces that a replica's last backward pass does not hide, if nothing slows the pass
/// down. Reductions of buckets follow each other; none begins before this replica has its gradients. No
/// iteration is shorter than this plus the time of its passes. Only operators in `reduced` count, ascending:
/// parameters that stages share are reduced later. Problem and stage must outlive it. Not thread-safe.
class ExposedReduction {
 public:
  ExposedReduction(const cost::Problem& problem, const plan::Stage& stage,
                   const std::vector<core::OpId>& reduced);
  /// Exposed time for `samples` of the replica's micro-batch. With several buckets a picosecond per reduction
  /// and piece of the pass is subtracted, because the simulator rounds each.
  core::Seconds time(std::size_t replica, std::int64_t samples);
  /// Number of pieces into which the last backward pass is cut, each rounded once.
  std::size_t pieces() const { return passing_ ? reducing_.size() : 1; }
  /// Minimum over replicas with their share of a micro-batch.
  core::Seconds least();

 private:
  core::Seconds left(std::size_t replica, std::int64_t samples);
  core::Seconds rounded_down(core::Seconds time) const;

  const cost::Problem& problem_;
  const plan::Stage& stage_;
  std::size_t roundings_ = 0;                  ///< number of roundings in the simulator
  std::vector<core::Seconds> reducing_;        ///< [bucket] time of its reduction and all that follow
  std::optional<cost::ReplicaTimes> passing_;  ///< [bucket] pass times; none for a single bucket
  std::map<std::pair<std::size_t, std::int64_t>, core::Seconds> known_;  ///< by device type and samples
};

}  // namespace penstock::score
