#pragma once
// A row of numbers in the memory of a device that is not the host.

#include "worker/numbers.hpp"

namespace penstock::replay {

class DeviceNumbers : public Numbers {
 public:
  /// One number or more. Pieces carry `copier`.
  DeviceNumbers(kernels::Backend& backend, Copier* copier, std::size_t size);
  std::size_t size() const override { return static_cast<std::size_t>(values_->count()); }
  void take(const std::vector<Region>& regions) override;
  void give(const std::vector<Region>& regions) override;
  Pieces piece(std::size_t first, std::size_t count) override;
  void add(std::size_t first, const Numbers& terms, std::size_t count) override;
  bool sum(kernels::Collectives& library, std::size_t rank) override;
  std::unique_ptr<Numbers> room(std::size_t size) const override;

  /// The same, put on the stream, which is not waited for.
  kernels::Stream& stream() { return *stream_; }
  void put_taken(const std::vector<Region>& regions);
  void put_given(const std::vector<Region>& regions);
  void put_sum(std::size_t first, const DeviceNumbers& terms, std::size_t count);
  /// `count` numbers of another row, from `from` on, come to `first` and the following.
  void put_copy(std::size_t first, const DeviceNumbers& other, std::size_t from, std::size_t count,
                kernels::Stream& stream);

 private:
  Slice slice(std::size_t first, std::size_t count) const;
  /// move(own, other) for every region and its part of the row.
  template <class Move>
  void each(const std::vector<Region>& regions, const Move& move);

  kernels::Backend& backend_;
  Copier* copier_;
  std::unique_ptr<kernels::Stream> stream_;
  std::shared_ptr<kernels::Buffer> values_;
};

}  // namespace penstock::replay
