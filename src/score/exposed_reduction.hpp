#pragma once
// What of a stage's all-reduces its last backward pass does not hide.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "penstock/cost/buckets.hpp"
#include "penstock/cost/sharding.hpp"

namespace penstock::score {

/// What a replica's last backward pass leaves of the stage's all-reduces, if nothing slows the pass down:
/// those of the buckets follow each other, none before this replica has its gradients. No iteration ends
/// sooner than so long after its passes take by themselves. Of the operators in `reduced` alone, ascending:
/// parameters that stages share are reduced later. Problem and stage must outlive it. For one thread.
class ExposedReduction {
 public:
  ExposedReduction(const cost::Problem& problem, const plan::Stage& stage,
                   const std::vector<core::OpId>& reduced);
  /// `samples` of the replica's micro-batch. Of several a picosecond per reduction and piece of the pass
  /// is taken off, for the simulator rounds each.
  core::Seconds time(std::size_t replica, std::int64_t samples);
  /// Into which the last backward pass is cut: as many roundings.
  std::size_t pieces() const { return passing_ ? reducing_.size() : 1; }
  /// Of any replica with its share of a micro-batch.
  core::Seconds least();

 private:
  core::Seconds left(std::size_t replica, std::int64_t samples);
  core::Seconds rounded_down(core::Seconds time) const;

  const cost::Problem& problem_;
  const plan::Stage& stage_;
  std::size_t roundings_ = 0;                  ///< of the simulator
  std::vector<core::Seconds> reducing_;        ///< by bucket, with all that follow
  std::optional<cost::ReplicaTimes> passing_;  ///< by bucket; none where there is one
  std::map<std::pair<std::size_t, std::int64_t>, core::Seconds> known_;  ///< by device type and samples
};

}  // namespace penstock::score
