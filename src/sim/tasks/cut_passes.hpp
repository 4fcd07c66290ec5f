#pragma once
// Passes cut at the collectives of their tensor-parallel groups, so that these take links.

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "penstock/cost/buckets.hpp"
#include "penstock/cost/pass_pieces.hpp"
#include "penstock/program/program.hpp"

namespace penstock::sim {

/// Seconds of a pass's kind.
core::Seconds time_of(schedule::ActionKind kind, const cost::OpTime& time);

/// For one thread. What it is made of must outlive it.
class CutPasses {
 public:
  /// `buckets`: of gradients, by stage.
  CutPasses(const cost::Problem& problem, const plan::Plan& plan,
            const std::vector<std::vector<cost::Bucket>>& buckets);

  /// Pieces of a whole pass, or of what fills a bucket.
  std::size_t count(core::StageId stage, schedule::ActionKind kind, std::int32_t bucket);
  /// Of a piece, without the collective behind it. What a pass waits for of ZeRO's replicas counts in its
  /// last piece.
  core::Seconds time(const program::Instruction& piece, std::size_t replica, std::int64_t samples);
  /// The collective behind it; null: it is the last.
  const layout::GroupCollective* behind(const program::Instruction& piece);

 private:
  using Key = std::tuple<core::StageId, schedule::ActionKind, std::int32_t>;
  struct Cut {
    std::vector<cost::PassPiece> pieces;
    /// Of the pieces alone, then of all together; and of all with ZeRO.
    std::optional<cost::ReplicaTimes> alone, whole;
    std::map<std::pair<std::size_t, std::int64_t>, std::vector<core::Seconds>> times;  ///< {replica, samples}
  };
  Cut& cut(const Key& key);
  std::vector<core::Seconds> times(Cut& cut, schedule::ActionKind kind, std::size_t replica,
                                   std::int64_t samples);
  std::vector<core::OpId> operators(core::StageId stage, std::int32_t bucket) const;

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const std::vector<std::vector<cost::Bucket>>& buckets_;
  std::vector<std::optional<cost::PassPieces>> pieces_;  ///< [stage] of groups of several devices
  std::map<Key, Cut> cuts_;
};

}  // namespace penstock::sim
