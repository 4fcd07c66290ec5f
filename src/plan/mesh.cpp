#include "penstock/plan/mesh.hpp"

#include <algorithm>

namespace penstock::plan {

Mesh::Mesh(const Stage& stage) : devices_(stage.devices) {
  for (const StatedDim& stated : kStatedDims)
    extent_[static_cast<std::size_t>(stated.dim)] = static_cast<std::size_t>(stage.*stated.size);
  extent_[0] = devices_.size() / static_cast<std::size_t>(stage.replica_size());
}

Mesh::Mesh(std::span<const core::DeviceId> devices, int tensor) : devices_(devices) {
  extent_.fill(1);
  extent_[static_cast<std::size_t>(MeshDim::tensor)] = static_cast<std::size_t>(tensor);
  extent_[0] = devices.size() / static_cast<std::size_t>(tensor);
}

std::size_t Mesh::coordinate(std::size_t device, MeshDim dim) const {
  std::size_t inner = 1;
  for (auto d = static_cast<std::size_t>(dim) + 1; d < kMeshDims; ++d) inner *= extent_[d];
  return device / inner % extent(dim);
}

std::vector<Mesh::Devices> Mesh::groups(std::initializer_list<MeshDim> dims) const {
  std::vector<MeshDim> others;
  for (std::size_t d = 0; d < kMeshDims; ++d)
    if (const auto dim = static_cast<MeshDim>(d); std::ranges::find(dims, dim) == dims.end())
      others.push_back(dim);
  std::size_t count = 1;
  for (const MeshDim dim : others) count *= extent(dim);
  std::vector<Devices> out(count);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    std::size_t group = 0;
    for (const MeshDim dim : others) group = group * extent(dim) + coordinate(i, dim);
    out[group].push_back(devices_[i]);
  }
  return out;
}

std::span<const core::DeviceId> Mesh::replica(std::size_t data) const {
  const std::size_t size = devices_.size() / extent(MeshDim::data);
  return devices_.subspan(data * size, size);
}

}  // namespace penstock::plan
