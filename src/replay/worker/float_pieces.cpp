#include "worker/float_pieces.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::replay {

FloatPieces::FloatPieces(Pieces pieces) : pieces_(std::move(pieces)) {
  std::size_t end = 0;
  for (const MemoryPiece& piece : pieces_) {
    core::require(piece.size % sizeof(float) == 0, "a piece has whole numbers");
    ends_.push_back(end += piece.size / sizeof(float));
  }
}

Pieces FloatPieces::part(std::size_t start, std::size_t count) const {
  Pieces out;
  const auto first = std::upper_bound(ends_.begin(), ends_.end(), start);
  for (auto p = static_cast<std::size_t>(first - ends_.begin()); count > 0; ++p) {
    const std::size_t begin = p == 0 ? 0 : ends_[p - 1], taken = std::min(count, ends_[p] - start);
    if (taken > 0)
      out.push_back(
          {pieces_[p].owner, pieces_[p].data + (start - begin) * sizeof(float), taken * sizeof(float)});
    start += taken;
    count -= taken;
  }
  return out;
}

std::span<float> floats(const MemoryPiece& piece) {
  return {reinterpret_cast<float*>(piece.data), piece.size / sizeof(float)};
}

Pieces laid_out(const Pieces& like, const std::shared_ptr<void>& owner, float* to) {
  Pieces out;
  for (const MemoryPiece& piece : like) {
    out.push_back({owner, reinterpret_cast<std::byte*>(to), piece.size});
    to += piece.size / sizeof(float);
  }
  return out;
}

}  // namespace penstock::replay
