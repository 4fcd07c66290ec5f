#include "numbers.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "regions.hpp"

namespace penstock::replay {
namespace {

using kernels::Backend;
using kernels::Element;

class HostNumbers : public Numbers {
 public:
  HostNumbers(Backend& backend, std::size_t size)
      : backend_(backend), values_(std::make_shared<std::vector<float>>(size)) {}
  std::size_t size() const override { return values_->size(); }
  void take(const std::vector<Region>& regions) override { gather(backend_, regions, *values_); }
  void give(const std::vector<Region>& regions) override { scatter(backend_, regions, *values_); }
  Pieces piece(std::size_t first, std::size_t count) override {
    return {{values_, reinterpret_cast<std::byte*>(values_->data() + first), count * sizeof(float)}};
  }
  void add(std::size_t first, const Numbers& terms, std::size_t count) override {
    const std::vector<float>& more = *dynamic_cast<const HostNumbers&>(terms).values_;
    for (std::size_t i = 0; i < count; ++i) (*values_)[first + i] += more[i];
  }
  bool sum(kernels::Collectives&, std::size_t) override { return false; }
  std::unique_ptr<Numbers> room(std::size_t size) const override {
    return std::make_unique<HostNumbers>(backend_, size);
  }

 private:
  Backend& backend_;
  std::shared_ptr<std::vector<float>> values_;
};

class DeviceNumbers : public Numbers {
 public:
  DeviceNumbers(Backend& backend, Copier* copier, std::size_t size)
      : backend_(backend),
        copier_(copier),
        stream_(backend.make_stream()),
        values_(backend.allocate(Element::fp32, static_cast<std::int64_t>(size))) {}
  std::size_t size() const override { return static_cast<std::size_t>(values_->count()); }
  void take(const std::vector<Region>& regions) override {
    each(regions, [this](Slice own, Slice other) { backend_.copy(own, other, *stream_); });
  }
  void give(const std::vector<Region>& regions) override {
    each(regions, [this](Slice own, Slice other) { backend_.copy(other, own, *stream_); });
  }
  Pieces piece(std::size_t first, std::size_t count) override {
    return {{values_, static_cast<std::byte*>(slice(first, count).data()), count * sizeof(float), copier_}};
  }
  void add(std::size_t first, const Numbers& terms, std::size_t count) override {
    if (count == 0) return;
    Slice sum = slice(first, count);
    backend_.add(sum, dynamic_cast<const DeviceNumbers&>(terms).slice(0, count), *stream_);
    stream_->synchronise();
  }
  bool sum(kernels::Collectives& library, std::size_t rank) override {
    library.all_reduce(rank, *values_, *stream_);
    stream_->synchronise();
    return true;
  }
  std::unique_ptr<Numbers> room(std::size_t size) const override {
    return std::make_unique<DeviceNumbers>(backend_, copier_, size);
  }

 private:
  Slice slice(std::size_t first, std::size_t count) const {
    return {Element::fp32, static_cast<std::int64_t>(count), static_cast<float*>(values_->data()) + first};
  }
  /// move(own, other) for every region and its part of the row.
  template <class Move>
  void each(const std::vector<Region>& regions, const Move& move) {
    std::size_t first = 0;
    for (const Region& region : regions) {
      const auto count = static_cast<std::size_t>(region.bytes.value()) / sizeof(float);
      auto* const data = static_cast<std::byte*>(region.buffer->data()) + region.offset.value();
      if (count > 0) move(slice(first, count), {Element::fp32, static_cast<std::int64_t>(count), data});
      first += count;
    }
    core::require(first == size(), "as many numbers as the regions have");
    stream_->synchronise();
  }

  Backend& backend_;
  Copier* copier_;
  std::unique_ptr<kernels::Stream> stream_;
  std::shared_ptr<kernels::Buffer> values_;
};

}  // namespace

std::unique_ptr<Numbers> make_numbers(Backend& backend, Copier* copier, const std::vector<Region>& regions) {
  const std::size_t size = numbers(regions);
  const bool plain = std::ranges::all_of(
      regions, [](const Region& region) { return region.buffer->element() == Element::fp32; });
  if (copier != nullptr && plain && size > 0) return std::make_unique<DeviceNumbers>(backend, copier, size);
  return std::make_unique<HostNumbers>(backend, size);
}

}  // namespace penstock::replay
