#include "worker/device_accumulator.hpp"

#include "penstock/core/error.hpp"

namespace penstock::replay {

using kernels::Element;

DeviceAccumulator::DeviceAccumulator(kernels::Backend& backend, PieceCopier* copier, std::size_t size)
    : backend_(backend),
      copier_(copier),
      stream_(backend.make_stream()),
      values_(backend.allocate(Element::fp32, static_cast<std::int64_t>(size))) {}

void DeviceAccumulator::take(const std::vector<BufferRegion>& regions) {
  put_taken(regions);
  stream_->synchronise();
}

void DeviceAccumulator::give(const std::vector<BufferRegion>& regions) {
  put_given(regions);
  stream_->synchronise();
}

Pieces DeviceAccumulator::piece(std::size_t first, std::size_t count) {
  return {{values_, static_cast<std::byte*>(slice(first, count).data()), count * sizeof(float), copier_}};
}

void DeviceAccumulator::add(std::size_t first, const GradientAccumulator& terms, std::size_t count) {
  put_sum(first, dynamic_cast<const DeviceAccumulator&>(terms), count);
  stream_->synchronise();
}

bool DeviceAccumulator::sum(kernels::Collectives& library, std::size_t rank) {
  library.all_reduce(rank, *values_, *stream_);
  stream_->synchronise();
  return true;
}

std::unique_ptr<GradientAccumulator> DeviceAccumulator::room(std::size_t size) const {
  return std::make_unique<DeviceAccumulator>(backend_, copier_, size);
}

void DeviceAccumulator::put_taken(const std::vector<BufferRegion>& regions) {
  each(regions, [this](BufferSlice own, const BufferSlice& other) { backend_.copy(own, other, *stream_); });
}

void DeviceAccumulator::put_given(const std::vector<BufferRegion>& regions) {
  each(regions, [this](const BufferSlice& own, BufferSlice other) { backend_.copy(other, own, *stream_); });
}

void DeviceAccumulator::put_sum(std::size_t first, const DeviceAccumulator& terms, std::size_t count) {
  if (count == 0) return;
  BufferSlice sum = slice(first, count);
  backend_.add(sum, terms.slice(0, count), *stream_);
}

void DeviceAccumulator::put_copy(std::size_t first, const DeviceAccumulator& other, std::size_t from,
                                 std::size_t count, kernels::Stream& stream) {
  if (count == 0) return;
  BufferSlice own = slice(first, count);
  backend_.copy(own, other.slice(from, count), stream);
}

BufferSlice DeviceAccumulator::slice(std::size_t first, std::size_t count) const {
  return {Element::fp32, static_cast<std::int64_t>(count), static_cast<float*>(values_->data()) + first};
}

template <class Move>
void DeviceAccumulator::each(const std::vector<BufferRegion>& regions, const Move& move) {
  std::size_t first = 0;
  for (const BufferRegion& region : regions) {
    const auto count = static_cast<std::size_t>(region.bytes.value()) / sizeof(float);
    auto* const data = static_cast<std::byte*>(region.buffer->data()) + region.offset.value();
    if (count > 0) move(slice(first, count), {Element::fp32, static_cast<std::int64_t>(count), data});
    first += count;
  }
  core::require(first == size(), "as many numbers as the regions have");
}

}  // namespace penstock::replay
