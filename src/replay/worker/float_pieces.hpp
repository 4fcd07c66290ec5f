#pragma once
// Floats in several pieces of memory, numbered on from one piece to the next.

#include <span>

#include "links/links.hpp"

namespace penstock::replay {

/// Of fp32. Referred to, not held: the pieces' owners keep them.
class FloatPieces {
 public:
  /// Pieces of whole numbers.
  explicit FloatPieces(Pieces pieces);

  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Pieces that hold the numbers [start, start + count).
  Pieces part(std::size_t start, std::size_t count) const;

 private:
  Pieces pieces_;
  std::vector<std::size_t> ends_;  ///< numbers up to the end of each piece
};

std::span<float> floats(const Piece& piece);

/// As large as `like`, one after the other from `to` on, which `owner` keeps.
Pieces laid_out(const Pieces& like, const std::shared_ptr<void>& owner, float* to);

}  // namespace penstock::replay
