#pragma once
// An accumulator in the memory of a device other than the host.

#include "worker/accumulator.hpp"

namespace penstock::replay {

class DeviceAccumulator : public GradientAccumulator {
 public:
  /// For one number or more. Pieces carry `copier`.
  DeviceAccumulator(kernels::Backend& backend, PieceCopier* copier, std::size_t size);
  std::size_t size() const override { return static_cast<std::size_t>(values_->count()); }
  void take(const std::vector<BufferRegion>& regions) override;
  void give(const std::vector<BufferRegion>& regions) override;
  Pieces piece(std::size_t first, std::size_t count) override;
  void add(std::size_t first, const GradientAccumulator& terms, std::size_t count) override;
  bool sum(kernels::Collectives& library, std::size_t rank) override;
  std::unique_ptr<GradientAccumulator> room(std::size_t size) const override;

  /// Variants that put their work on the stream without waiting.
  kernels::Stream& stream() { return *stream_; }
  void put_taken(const std::vector<BufferRegion>& regions);
  void put_given(const std::vector<BufferRegion>& regions);
  void put_sum(std::size_t first, const DeviceAccumulator& terms, std::size_t count);
  /// Copies `count` numbers of another accumulator, from `from` on, to the values from `first` on.
  void put_copy(std::size_t first, const DeviceAccumulator& other, std::size_t from, std::size_t count,
                kernels::Stream& stream);

 private:
  BufferSlice slice(std::size_t first, std::size_t count) const;
  /// Calls move(own, other) for every region and its part of the accumulator.
  template <class Move>
  void each(const std::vector<BufferRegion>& regions, const Move& move);

  kernels::Backend& backend_;
  PieceCopier* copier_;
  std::unique_ptr<kernels::Stream> stream_;
  std::shared_ptr<kernels::Buffer> values_;
};

}  // namespace penstock::replay
