#include "links/copier.hpp"

#include "penstock/core/error.hpp"

namespace penstock::replay {

BufferSlice halves(const MemoryPiece& piece) {
  core::require(piece.size % 2 == 0, "a piece has whole elements");
  return {kernels::Element::bf16, static_cast<std::int64_t>(piece.size / 2), piece.data};
}

void put_copies(kernels::Backend& backend, const Pieces& from, const Pieces& to, kernels::Stream& stream) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    core::require(from[i].size == to[i].size, "both ends of a message have the same size");
    if (from[i].size == 0 || from[i].data == to[i].data) continue;
    BufferSlice target = halves(to[i]);
    backend.copy(target, halves(from[i]), stream);
  }
}

void PieceCopier::copy(const Pieces& from, const Pieces& to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    core::require(from[i].copier != nullptr && to[i].copier != nullptr,
                  "a message goes from device to device");
  put_copies(backend_, from, to, *stream_);
  stream_->synchronise();
}

}  // namespace penstock::replay
