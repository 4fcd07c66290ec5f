#include "worker/accumulator.hpp"

#include <algorithm>

#include "worker/device_accumulator.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {
namespace {

using kernels::Backend;
using kernels::Element;

class HostAccumulator : public GradientAccumulator {
 public:
  HostAccumulator(Backend& backend, std::size_t size)
      : backend_(backend), values_(std::make_shared<std::vector<float>>(size)) {}
  std::size_t size() const override { return values_->size(); }
  void take(const std::vector<BufferRegion>& regions) override { gather(backend_, regions, *values_); }
  void give(const std::vector<BufferRegion>& regions) override { scatter(backend_, regions, *values_); }
  Pieces piece(std::size_t first, std::size_t count) override {
    return {{values_, reinterpret_cast<std::byte*>(values_->data() + first), count * sizeof(float)}};
  }
  void add(std::size_t first, const GradientAccumulator& terms, std::size_t count) override {
    const std::vector<float>& more = *dynamic_cast<const HostAccumulator&>(terms).values_;
    for (std::size_t i = 0; i < count; ++i) (*values_)[first + i] += more[i];
  }
  bool sum(kernels::Collectives&, std::size_t) override { return false; }
  std::unique_ptr<GradientAccumulator> room(std::size_t size) const override {
    return std::make_unique<HostAccumulator>(backend_, size);
  }

 private:
  Backend& backend_;
  std::shared_ptr<std::vector<float>> values_;
};

}  // namespace

std::unique_ptr<GradientAccumulator> make_accumulator(Backend& backend, PieceCopier* copier,
                                                      const std::vector<BufferRegion>& regions) {
  const std::size_t size = element_count(regions);
  const bool plain = std::ranges::all_of(
      regions, [](const BufferRegion& region) { return region.buffer->element() == Element::fp32; });
  if (copier != nullptr && plain && size > 0)
    return std::make_unique<DeviceAccumulator>(backend, copier, size);
  return std::make_unique<HostAccumulator>(backend, size);
}

}  // namespace penstock::replay
