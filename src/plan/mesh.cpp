#include "penstock/plan/mesh.hpp"

#include <algorithm>

namespace penstock::plan {

Mesh::Mesh(std::span<const core::DeviceId> devices, int tensor, int context)
    : devices_(devices), extent_{0, static_cast<std::size_t>(context), static_cast<std::size_t>(tensor)} {
  extent_[0] = devices.size() / (extent_[1] * extent_[2]);
}

std::size_t Mesh::coordinate(std::size_t device, MeshDim dim) const {
  std::size_t inner = 1;
  for (auto d = static_cast<std::size_t>(dim) + 1; d < kMeshDims; ++d) inner *= extent_[d];
  return device / inner % extent(dim);
}

std::vector<Mesh::Devices> Mesh::groups(std::initializer_list<MeshDim> dims) const {
  std::vector<MeshDim> others;
  for (const MeshDim dim : {MeshDim::data, MeshDim::context, MeshDim::tensor})
    if (std::ranges::find(dims, dim) == dims.end()) others.push_back(dim);
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
  const std::size_t size = extent(MeshDim::context) * extent(MeshDim::tensor);
  return devices_.subspan(data * size, size);
}

}  // namespace penstock::plan
