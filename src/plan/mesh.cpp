#include "penstock/plan/mesh.hpp"

namespace penstock::plan {

Mesh::Mesh(std::span<const core::DeviceId> devices, int tensor)
    : devices_(devices),
      extent_{devices.size() / static_cast<std::size_t>(tensor), static_cast<std::size_t>(tensor)} {}

std::size_t Mesh::coordinate(std::size_t device, MeshDim dim) const {
  return dim == MeshDim::tensor ? device % extent(MeshDim::tensor) : device / extent(MeshDim::tensor);
}

std::vector<Mesh::Devices> Mesh::groups(MeshDim dim) const {
  const MeshDim other = dim == MeshDim::data ? MeshDim::tensor : MeshDim::data;
  std::vector<Devices> out(extent(other));
  for (std::size_t i = 0; i < devices_.size(); ++i) out[coordinate(i, other)].push_back(devices_[i]);
  return out;
}

std::span<const core::DeviceId> Mesh::replica(std::size_t data) const {
  return devices_.subspan(data * extent(MeshDim::tensor), extent(MeshDim::tensor));
}

}  // namespace penstock::plan
