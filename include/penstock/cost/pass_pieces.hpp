#pragma once
// A pass cut at what it waits for of the groups of its stage.

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Operators that compute one after the other, and what the stage's groups do meanwhile.
struct PassPiece {
  using GroupCollectives = std::vector<layout::GroupCollective>;

  std::vector<core::OpId> operators;            ///< may be none
  std::optional<layout::GroupCollective> then;  ///< begins behind it; the next piece waits for its end
  GroupCollectives weights;    ///< it waits for these, which may begin when the piece `ahead` has ended
  std::size_t ahead = 0;       ///< before the layer in front, whose weights come first
  GroupCollectives gradients;  ///< begin behind it; the last piece waits for their end
};

/// Collectives of a stage's passes between operators, in the order in which passes run them. Weights that
/// ZeRO 3 shards come a layer at a time, while the layer before computes, and so go the gradients of ZeRO 2
/// and 3 (PyTorch's FSDP; Zhao et al., VLDB 2023, section 3.3). Operators between two layers are one of their
/// own. Problem and stage must outlive it.
class PassPieces {
 public:
  enum class Pass : std::uint8_t { forward, recompute, input_gradient, weight_gradient, backward };

  PassPieces(const Problem& problem, const plan::Stage& stage);
  /// Pieces of all of these operators, with what they wait for. The last piece has nothing behind it. One
  /// piece where no operator waits. Pieces of a recomputation hold only the operators that are computed
  /// again.
  std::vector<PassPiece> of(Pass pass, std::span<const core::OpId> operators) const;
  /// Gathers of products' inputs once more for the gradients of their weights, of the whole stage: none where the
  /// framework saved the inputs whole (saves_gathered). No piece waits for them. Differs from Megatron-LM: they
  /// hide entirely, and take no links.
  PassPiece::GroupCollectives gathered_again(Pass pass) const;

  /// True if any pass of such a stage may wait for a collective.
  static bool may_wait(const plan::Stage& stage);

 private:
  std::vector<core::OpId> in_order(Pass pass, std::span<const core::OpId> operators) const;
  std::vector<layout::GroupCollective> waits(Pass pass) const;
  bool gathers(Pass pass, bool again) const;

  LocalProblem local_;
  const plan::Stage& stage_;
  std::map<core::OpId, plan::Partition> how_;  ///< of a divided stage
  layout::GroupCollectives collectives_;
  PassPiece::GroupCollectives gathered_again_;
  RecomputedOps again_;                       ///< cores have no collectives of their own
  std::map<core::OpId, std::size_t> layers_;  ///< of a stage whose gradients are sharded
};

}  // namespace penstock::cost
