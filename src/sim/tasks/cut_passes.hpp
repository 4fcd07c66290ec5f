#pragma once
// Passes cut at the collectives of their stage's groups, so that these take links.

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
  /// Of a piece, without collectives that take links.
  core::Seconds time(const program::Instruction& piece, std::size_t replica, std::int64_t samples);
  /// All of its pass.
  const std::vector<cost::PassPiece>& pieces(const program::Instruction& piece) {
    return cut({piece.stage, piece.kind, piece.bucket}).pieces;
  }

 private:
  using Key = std::tuple<core::StageId, schedule::ActionKind, std::int32_t>;
  struct Cut {
    std::vector<cost::PassPiece> pieces;
    std::optional<cost::ReplicaTimes> alone;
    std::map<std::pair<std::size_t, std::int64_t>, std::vector<core::Seconds>> times;  ///< {replica, samples}
  };
  Cut& cut(const Key& key);
  std::vector<core::OpId> operators(core::StageId stage, std::int32_t bucket) const;

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const std::vector<std::vector<cost::Bucket>>& buckets_;
  std::vector<std::optional<cost::PassPieces>> pieces_;  ///< [stage] where passes may wait
  std::map<Key, Cut> cuts_;
};

}  // namespace penstock::sim
