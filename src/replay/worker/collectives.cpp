#include "worker/collectives.hpp"

#include <cstring>

#include "penstock/core/error.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {
namespace {

using Shared = Peers::Shared;

std::size_t size(core::Bytes bytes) {
  return static_cast<std::size_t>(bytes.value());
}

Region all_of(const Lease& lease) {
  return {lease, core::Bytes(0), lease->bytes()};
}

/// Bytes of a buffer in host memory: its own where the buffer is there, else a copy that is written back.
class HostView {
 public:
  HostView(Device& device, const Lease& lease) : device_(device), lease_(lease) {
    if (on_host(device.backend)) {
      bytes_ = {static_cast<std::byte*>(lease->data()), size(lease->bytes())};
      return;
    }
    copy_.resize(size(lease->bytes()));
    device.backend.read(*lease, copy_);
    bytes_ = copy_;
  }
  std::span<std::byte> bytes() const { return bytes_; }
  void write_back() const {
    if (!copy_.empty()) device_.backend.write(*lease_, copy_);
  }

 private:
  Device& device_;
  Lease lease_;
  std::vector<std::byte> copy_;
  std::span<std::byte> bytes_;
};

void share(Device& device, const Shared& own, core::Seconds time,
           const std::function<void(const std::vector<Shared>&)>& use) {
  core::require(device.peers != nullptr, "a device of a group has joined it");
  device.peers->share(own, time, use);
}

/// Copies what `from` has of `to`; both are of one tensor.
void fill(std::span<std::byte> to, const Shard& wanted, std::span<const std::byte> from, const Shard& there,
          std::size_t element) {
  each_common(wanted, there, [&](std::int64_t a, std::int64_t b, std::int64_t count) {
    std::memcpy(to.data() + static_cast<std::size_t>(a) * element,
                from.data() + static_cast<std::size_t>(b) * element,
                static_cast<std::size_t>(count) * element);
  });
}

}  // namespace

void all_reduce(Device& device, const std::vector<Lease>& terms, core::Seconds time) {
  std::vector<Region> regions;
  for (const Lease& term : terms) regions.push_back(all_of(term));
  device.stream->synchronise();
  const std::vector<float> own = gather(device.backend, regions);
  std::vector<float> sum(own.size());
  share(device, {std::as_bytes(std::span(own))}, time, [&](const std::vector<Shared>& all) {
    for (const Shared& shared : all) {
      core::require(shared[0].size() == own.size() * sizeof(float), "devices of a group sum the same");
      const auto* term = reinterpret_cast<const float*>(shared[0].data());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
    }
  });
  scatter(device.backend, regions, sum);
}

Lease reshard(Device& device, const Lease& tensor, const Sharding& from, const Sharding& to, Extent extent,
              plan::MemoryKind kind, const std::string& what, core::Seconds time) {
  if (from == to) return tensor;
  const std::size_t member = device.division.member();
  const auto shard_of = [&](std::size_t m) { return from.shard(m, extent.samples, extent.count); };
  const Shard wanted = to.shard(member, extent.samples, extent.count);
  const auto element = static_cast<std::size_t>(kernels::size(tensor->element()));
  const Lease out = device.pool->acquire(tensor->element(), wanted.count(), kind, what);
  device.stream->synchronise();
  const HostView own(device, tensor), result(device, out);
  if (from.whole())
    fill(result.bytes(), wanted, own.bytes(), shard_of(member), element);
  else
    share(device, {own.bytes()}, time, [&](const std::vector<Shared>& all) {
      for (std::size_t m = 0; m < all.size(); ++m)
        fill(result.bytes(), wanted, all[m][0], shard_of(m), element);
    });
  result.write_back();
  return out;
}

void complete(Device& device, const std::vector<Lease>& buffers, const std::vector<Missing>& missing,
              core::Seconds time) {
  device.stream->synchronise();
  std::vector<HostView> views;
  Shared own;
  for (const Lease& buffer : buffers) own.push_back(views.emplace_back(device, buffer).bytes());
  share(device, own, time, [&](const std::vector<Shared>& all) {
    for (const Missing& part : missing)
      std::memcpy(views[part.buffer].bytes().data() + part.offset.value(),
                  all[part.member][part.buffer].data() + part.offset.value(), size(part.bytes));
  });
  for (const HostView& view : views) view.write_back();
}

}  // namespace penstock::replay
