#include "worker/collectives.hpp"

#include <cstring>

#include "penstock/core/error.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {
namespace {

using Shared = GroupPeers::Shared;

std::size_t size(core::Bytes bytes) {
  return static_cast<std::size_t>(bytes.value());
}

BufferRegion all_of(const Lease& lease) {
  return {lease, core::Bytes(0), lease->bytes()};
}

/// Bytes of a buffer in host memory: its own if it is there, otherwise a copy that is written back.
class HostView {
 public:
  HostView(DeviceContext& device, const Lease& lease) : device_(device), lease_(lease) {
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
  DeviceContext& device_;
  Lease lease_;
  std::vector<std::byte> copy_;
  std::span<std::byte> bytes_;
};

void share(DeviceContext& device, const Shared& own, core::Seconds time,
           const std::function<void(const std::vector<Shared>&)>& use) {
  core::require(device.peers != nullptr, "a device of a group has joined it");
  device.peers->share(own, time, use);
}

/// Copies the numbers of `to` that `from` has; both belong to one tensor.
void fill(std::span<std::byte> to, const TensorShard& wanted, std::span<const std::byte> from,
          const TensorShard& there, std::size_t element) {
  each_common(wanted, there, [&](std::int64_t a, std::int64_t b, std::int64_t count) {
    std::memcpy(to.data() + static_cast<std::size_t>(a) * element,
                from.data() + static_cast<std::size_t>(b) * element,
                static_cast<std::size_t>(count) * element);
  });
}

}  // namespace

void all_reduce(DeviceContext& device, const std::vector<Lease>& terms, core::Seconds time) {
  core::require(device.peers != nullptr, "a device of a group has joined it");
  all_reduce(device, *device.peers, terms, time);
}

void all_reduce(DeviceContext& device, GroupPeers& peers, const std::vector<Lease>& terms,
                core::Seconds time) {
  std::vector<BufferRegion> regions;
  for (const Lease& term : terms) regions.push_back(all_of(term));
  device.stream->synchronise();
  const std::vector<float> own = gather(device.backend, regions);
  std::vector<float> sum(own.size());
  peers.share({std::as_bytes(std::span(own))}, time, [&](const std::vector<Shared>& all) {
    for (const Shared& shared : all) {
      core::require(shared[0].size() == own.size() * sizeof(float), "devices of a group sum the same");
      const auto* term = reinterpret_cast<const float*>(shared[0].data());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
    }
  });
  scatter(device.backend, regions, sum);
}

Lease reshard(DeviceContext& device, const Lease& tensor, const TensorSharding& from,
              const TensorSharding& to, TensorExtent extent, plan::MemoryKind kind, const std::string& what,
              core::Seconds time) {
  if (from == to) return tensor;
  const TensorShard wanted = to.shard(device.division.member(), extent.samples, extent.count);
  Lease out = device.pool->acquire(tensor->element(), wanted.count(), kind, what);
  reshard(device, {{tensor, from, to, extent.count, out}}, extent.samples, time);
  return out;
}

void reshard(DeviceContext& device, const std::vector<TensorResharding>& tensors, std::int64_t samples,
             core::Seconds time) {
  const std::size_t member = device.division.member();
  device.stream->synchronise();
  std::vector<HostView> own, results;
  Shared shared;
  for (const TensorResharding& one : tensors) {
    shared.push_back(own.emplace_back(device, one.tensor).bytes());
    results.emplace_back(device, one.into);
  }
  const auto take = [&](std::size_t m, const Shared& from) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      fill(results[i].bytes(), tensors[i].to.shard(member, samples, tensors[i].count), from[i],
           tensors[i].from.shard(m, samples, tensors[i].count),
           static_cast<std::size_t>(kernels::size(tensors[i].tensor->element())));
  };
  if (tensors.front().from.whole())
    take(member, shared);
  else
    share(device, shared, time, [&](const std::vector<Shared>& all) {
      for (std::size_t m = 0; m < all.size(); ++m) take(m, all[m]);
    });
  for (const HostView& result : results) result.write_back();
}

void reduce_scatter(DeviceContext& device, const std::vector<SumScattering>& tensors, std::int64_t samples,
                    core::Seconds time) {
  device.stream->synchronise();
  std::vector<std::vector<float>> own, sums;
  Shared shared;
  for (const SumScattering& one : tensors) {
    shared.push_back(std::as_bytes(std::span(own.emplace_back(gather(device.backend, {all_of(one.term)})))));
    sums.emplace_back(static_cast<std::size_t>(one.into->count()));
  }
  share(device, shared, time, [&](const std::vector<Shared>& all) {
    for (const Shared& terms : all)
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto* term = reinterpret_cast<const float*>(terms[i].data());
        each_common(tensors[i].to.shard(device.division.member(), samples, tensors[i].count),
                    TensorSharding().shard(0, samples, tensors[i].count),
                    [&](std::int64_t to, std::int64_t from, std::int64_t count) {
                      for (std::int64_t k = 0; k < count; ++k)
                        sums[i][static_cast<std::size_t>(to + k)] += term[from + k];
                    });
      }
  });
  for (std::size_t i = 0; i < tensors.size(); ++i)
    scatter(device.backend, {all_of(tensors[i].into)}, sums[i]);
}

void shift(DeviceContext& device, const std::vector<Lease>& own, const std::vector<Lease>& into,
           core::Seconds time) {
  const std::size_t before =
      (device.division.member() + device.division.members() - 1) % device.division.members();
  device.stream->synchronise();
  std::vector<HostView> from, to;
  Shared shared;
  for (std::size_t i = 0; i < own.size(); ++i) {
    shared.push_back(from.emplace_back(device, own[i]).bytes());
    to.emplace_back(device, into[i]);
  }
  share(device, shared, time, [&](const std::vector<Shared>& all) {
    for (std::size_t i = 0; i < to.size(); ++i)
      std::memcpy(to[i].bytes().data(), all[before][i].data(), to[i].bytes().size());
  });
  for (const HostView& view : to) view.write_back();
}

void complete(DeviceContext& device, const std::vector<Lease>& buffers,
              const std::vector<MissingBytes>& missing, core::Seconds time) {
  device.stream->synchronise();
  std::vector<HostView> views;
  Shared own;
  for (const Lease& buffer : buffers) own.push_back(views.emplace_back(device, buffer).bytes());
  share(device, own, time, [&](const std::vector<Shared>& all) {
    for (const MissingBytes& part : missing)
      std::memcpy(views[part.buffer].bytes().data() + part.offset.value(),
                  all[part.member][part.buffer].data() + part.offset.value(), size(part.bytes));
  });
  for (const HostView& view : views) view.write_back();
}

}  // namespace penstock::replay
