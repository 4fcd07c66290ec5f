#pragma once
// Passes cut at the collectives of their stage's groups, so that these use links.

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "penstock/cost/buckets.hpp"
#include "penstock/cost/pass_pieces.hpp"
#include "penstock/program/program.hpp"

namespace penstock::sim {

/// Seconds of the pass of this kind.
core::Seconds time_of(schedule::ActionKind kind, const cost::OpTime& time);

/// Not thread-safe. Its arguments must outlive it.
class CutPasses {
 public:
  /// `buckets`: [stage] gradient buckets.
  CutPasses(const cost::Problem& problem, const plan::Plan& plan,
            const std::vector<std::vector<cost::GradientBucket>>& buckets);

  /// Number of pieces of a whole pass, or of the part that makes a bucket.
  std::size_t count(core::StageId stage, schedule::ActionKind kind, std::int32_t bucket);
  /// Time of a piece, without collectives on links.
  core::Seconds time(const program::Instruction& piece, std::size_t replica, std::int64_t samples);
  /// All pieces of the pass.
  const std::vector<cost::PassPiece>& pieces(const program::Instruction& piece) {
    return cut({piece.stage, piece.kind, piece.bucket}).pieces;
  }

 private:
  using Key = std::tuple<core::StageId, schedule::ActionKind, std::int32_t>;
  struct StageCut {
    std::vector<cost::PassPiece> pieces;
    std::optional<cost::ReplicaTimes> alone;
    std::map<std::pair<std::size_t, std::int64_t>, std::vector<core::Seconds>> times;  ///< {replica, samples}
  };
  StageCut& cut(const Key& key);
  std::vector<core::OpId> operators(core::StageId stage, std::int32_t bucket) const;

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const std::vector<std::vector<cost::GradientBucket>>& buckets_;
  std::vector<std::optional<cost::PassPieces>> pieces_;  ///< [stage] set if passes may wait
  std::map<Key, StageCut> cuts_;
};

}  // namespace penstock::sim
