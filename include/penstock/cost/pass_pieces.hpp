#pragma once
// A pass cut at what its tensor-parallel group waits for.

#include <optional>
#include <span>
#include <vector>

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Operators that compute one after the other, and the collective behind them.
struct PassPiece {
  std::vector<core::OpId> operators;  ///< may be none
  std::optional<layout::GroupCollective> then;
};

/// Which collectives of a stage's passes stand between which operators, in the order in which passes run
/// them. Problem and stage must outlive it.
class PassPieces {
 public:
  enum class Pass : std::uint8_t { forward, recompute, backward };  ///< backward: or its input gradients

  PassPieces(const Problem& problem, const plan::Stage& stage);
  /// All of these operators, with the stage's collectives that they wait for. The last piece has none behind
  /// it. One piece where nobody waits. Of a recomputation pieces hold those alone that are computed again.
  std::vector<PassPiece> of(Pass pass, std::span<const core::OpId> operators) const;

 private:
  LocalProblem local_;
  layout::Collectives collectives_;
  std::vector<core::OpId> again_;  ///< whole, ascending; cores have no collectives of their own
  std::vector<core::OpId> cores_;
};

}  // namespace penstock::cost
