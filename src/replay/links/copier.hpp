#pragma once
// Copies onto a device.

#include "links/links.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::replay {

/// Part of a buffer as a buffer; the owner of the memory keeps it alive.
class BufferSlice : public kernels::Buffer {
 public:
  BufferSlice(kernels::Element element, std::int64_t count, void* data)
      : Buffer(element, count), data_(data) {}
  void* data() const override { return data_; }

 private:
  void* data_;
};

/// A piece of a device as a buffer: elements of all kinds are whole pairs of bytes.
BufferSlice halves(const MemoryPiece& piece);

/// Puts copies on a stream of the backend of `to`; both have pieces of equal sizes. Identical memory is
/// skipped.
void put_copies(kernels::Backend& backend, const Pieces& from, const Pieces& to, kernels::Stream& stream);

/// Copies pieces of devices of one kind onto one of them, on its own stream. One thread at a time.
class PieceCopier {
 public:
  explicit PieceCopier(kernels::Backend& backend) : backend_(backend), stream_(backend.make_stream()) {}
  /// Returns when the copy is complete.
  void copy(const Pieces& from, const Pieces& to);

 private:
  kernels::Backend& backend_;
  std::unique_ptr<kernels::Stream> stream_;
};

}  // namespace penstock::replay
