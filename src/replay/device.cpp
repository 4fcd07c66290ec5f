#include "device.hpp"

namespace penstock::replay {

kernels::Kernel& Kernels::of(const graph::Operator& op, std::int64_t samples) {
  auto& kernel = kernels_[{op.kind, op.shape, samples}];
  if (kernel == nullptr) kernel = backend_.make_kernel(op, samples, number_);
  return *kernel;
}

Device::Device(kernels::Backend& b, const graph::OpGraph& g, const TrainingSetup& s, core::Bytes capacity,
               const std::string& device)
    : backend(b),
      graph(g),
      setup(s),
      pool(std::make_shared<Pool>(b, capacity, device)),
      wires(kernels::wire(g, s.number)),
      stream(b.make_stream()),
      kernels(b, s.number) {}

Lease Device::like(const kernels::Buffer& other, plan::MemoryKind kind, const std::string& what) {
  return pool->acquire(other.element(), other.count(), kind, what);
}

Lease Device::zeros(kernels::Element element, std::int64_t count, plan::MemoryKind kind,
                    const std::string& what) {
  Lease lease = pool->acquire(element, count, kind, what);
  backend.zero(*lease, *stream);
  return lease;
}

}  // namespace penstock::replay
