#pragma once
// Bytes of buffers: copied, and read as one row of numbers.

#include <span>
#include <vector>

#include "links/links.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// True if the processor can read the backend's buffers.
bool on_host(const kernels::Backend& backend);

std::size_t element_count(const std::vector<BufferRegion>& regions);

/// Pieces of buffers of the host, or of the device that `copier` copies to.
Pieces pieces(const std::vector<BufferRegion>& regions, PieceCopier* copier = nullptr);
/// Both must be of the host, or of devices. Internal error if sizes differ. Identical memory is skipped.
void copy(const Pieces& from, const Pieces& to);

/// Copies between buffers of any two devices, through the host unless both are there.
void copy(const std::vector<BufferRegion>& from, kernels::Backend& sender,
          const std::vector<BufferRegion>& to, kernels::Backend& receiver);

/// True if the regions are fp32 numbers that the processor can read.
bool plain(const kernels::Backend& backend, const std::vector<BufferRegion>& regions);

/// Copies all numbers of the regions, one after the other, in fp32; and back, rounded to the buffers'
/// elements.
std::vector<float> gather(kernels::Backend& backend, const std::vector<BufferRegion>& regions);
void gather(kernels::Backend& backend, const std::vector<BufferRegion>& regions, std::vector<float>& out);
void scatter(kernels::Backend& backend, const std::vector<BufferRegion>& regions,
             const std::vector<float>& values);
/// Sums of the numbers of several equal lists of regions.
void gather(kernels::Backend& backend, const std::vector<std::vector<BufferRegion>>& terms,
            std::vector<float>& out);

/// A buffer's numbers in fp32: in place for fp32 on the host, otherwise a copy.
class FloatView {
 public:
  /// Backend and buffer must outlive it.
  FloatView(kernels::Backend& backend, kernels::Buffer& buffer);
  std::span<float> operator*() const { return values_; }
  /// Writes a copy back, rounded to the buffer's elements.
  void write_back() const;

 private:
  kernels::Backend& backend_;
  kernels::Buffer& buffer_;
  std::vector<float> copy_;
  std::span<float> values_;
};

}  // namespace penstock::replay
