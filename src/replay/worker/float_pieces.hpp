#pragma once
// Floats in several pieces of memory, numbered through all pieces.

#include <span>

#include "links/links.hpp"

namespace penstock::replay {

/// fp32 numbers, by reference: the pieces' owners keep them alive.
class FloatPieces {
 public:
  /// Each piece must hold whole numbers.
  explicit FloatPieces(Pieces pieces);

  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Returns pieces that hold the numbers [start, start + count).
  Pieces part(std::size_t start, std::size_t count) const;

 private:
  Pieces pieces_;
  std::vector<std::size_t> ends_;  ///< numbers up to the end of each piece
};

std::span<float> floats(const MemoryPiece& piece);

/// Pieces of the sizes of `like`, one after the other from `to` on, kept alive by `owner`.
Pieces laid_out(const Pieces& like, const std::shared_ptr<void>& owner, float* to);

}  // namespace penstock::replay
