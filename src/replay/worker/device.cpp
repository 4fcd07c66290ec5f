#include "worker/device.hpp"

#include <fmt/format.h>

#include "worker/draw.hpp"

namespace penstock::replay {

kernels::Kernel& KernelCache::of(const graph::Operator& op, std::int64_t samples) {
  auto& kernel = kernels_[{op.kind, op.attributes, samples}];
  if (kernel == nullptr) kernel = backend_.make_kernel(op, samples, precision_);
  return *kernel;
}

kernels::Kernel& KernelCache::core_of(const graph::Operator& attention, std::int64_t samples) {
  auto& kernel = cores_[{attention.kind, attention.attributes, samples}];
  if (kernel == nullptr) kernel = backend_.make_attention_core(attention, samples, precision_);
  return *kernel;
}

DeviceContext::DeviceContext(kernels::Backend& b, const cost::Problem& problem, const plan::Plan& plan,
                             core::DeviceId id, const TrainingSetup& s)
    : backend(b),
      graph(problem.graph),
      cluster(problem.cluster),
      setup(s),
      pool(std::make_shared<BufferPool>(b, problem.cluster.type(id).memory,
                                        fmt::format("device {}", id.index()))),
      wires(kernels::wire(problem.graph, s.precision)),
      division(problem.graph, plan, id, wires),
      stream(b.make_stream()),
      kernels(b, s.precision) {
  if (grouped()) group_times.emplace(problem.cluster, division.group());
}

void DeviceContext::join(GroupPeers& all) {
  peers = &all;
  const std::size_t parts = division.expert_parts(), number = division.number(), members = division.members();
  if (parts == 1) return;
  peers = &replica.emplace(all, number / members * members, 1, members);
  experts.emplace(all, number / parts * parts, 1, parts);
  holders.emplace(all, number % parts, parts, division.devices() / parts);
}

std::int64_t DeviceContext::samples(core::OpId id, std::int64_t all) const {
  const std::int64_t out = shard(id).makes.samples(division.member(), all);
  if (out == 0)
    throw core::BadInput(fmt::format("operator '{}': {} samples are too few to be divided over {} devices",
                                     name(id), all, division.members()));
  return out;
}

core::Seconds DeviceContext::time(const std::vector<layout::GroupCollective>& collectives,
                                  std::int64_t samples) const {
  core::Seconds out;
  for (const layout::GroupCollective& collective : collectives) out += group_times->time(collective, samples);
  return out;
}

void DeviceContext::write_first_weights(kernels::ParameterRef parameter, kernels::Buffer& to) {
  const auto& [whole, sharding, part] = division.weights(parameter);
  write(backend, to, sharding.shard(part, 1, whole.count()), first_weights(setup, parameter, whole));
}

Lease DeviceContext::like(const kernels::Buffer& other, plan::MemoryKind kind, const std::string& what) {
  return pool->acquire(other.element(), other.count(), kind, what);
}

Lease DeviceContext::zeros(kernels::Element element, std::int64_t count, plan::MemoryKind kind,
                           const std::string& what) {
  Lease lease = pool->acquire(element, count, kind, what);
  backend.zero(*lease, *stream);
  return lease;
}

}  // namespace penstock::replay
