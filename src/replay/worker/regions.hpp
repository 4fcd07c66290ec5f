#pragma once
// Bytes of buffers: copied, and read as one row of numbers.

#include <span>
#include <vector>

#include "links/links.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// Whether the processor can read the backend's buffers.
bool on_host(const kernels::Backend& backend);

std::size_t element_count(const std::vector<Region>& regions);

/// Of buffers of the host, or of the device that `copier` copies to.
Pieces pieces(const std::vector<Region>& regions, Copier* copier = nullptr);
/// Both of the host, or of devices. Internal error where sizes differ. What is the same memory stays as it
/// is.
void copy(const Pieces& from, const Pieces& to);

/// Between buffers of any two devices, by way of the host where one is not there.
void copy(const std::vector<Region>& from, kernels::Backend& sender, const std::vector<Region>& to,
          kernels::Backend& receiver);

/// Whether the regions are numbers in fp32 that the processor reads.
bool plain(const kernels::Backend& backend, const std::vector<Region>& regions);

/// All numbers of the regions, one after the other, in fp32; and back, rounded to the buffers' elements.
std::vector<float> gather(kernels::Backend& backend, const std::vector<Region>& regions);
void gather(kernels::Backend& backend, const std::vector<Region>& regions, std::vector<float>& out);
void scatter(kernels::Backend& backend, const std::vector<Region>& regions, const std::vector<float>& values);
/// The sums of the numbers of several lists of regions, all alike.
void gather(kernels::Backend& backend, const std::vector<std::vector<Region>>& terms,
            std::vector<float>& out);

/// A buffer's numbers in fp32: where they are, in fp32 on the host; else a copy of them.
class Floats {
 public:
  /// Backend and buffer outlive it.
  Floats(kernels::Backend& backend, kernels::Buffer& buffer);
  std::span<float> operator*() const { return values_; }
  /// What a copy has now, rounded to the buffer's elements.
  void write_back() const;

 private:
  kernels::Backend& backend_;
  kernels::Buffer& buffer_;
  std::vector<float> copy_;
  std::span<float> values_;
};

}  // namespace penstock::replay
