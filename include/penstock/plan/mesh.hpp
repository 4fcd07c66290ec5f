#pragma once
// A stage's devices, arranged along named dimensions.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::plan {

inline constexpr std::size_t kMeshDims = kStatedDims.size() + 1;

/// A mesh as in GSPMD (Xu et al., 2021), or a DeviceMesh of DTensor: a device has a coordinate in every
/// dimension. A view: the devices must outlive it.
class Mesh {
 public:
  using Devices = std::vector<core::DeviceId>;

  explicit Mesh(const Stage& stage);
  /// Divides `devices` into replicas of one tensor-parallel group each.
  explicit Mesh(std::span<const core::DeviceId> devices, int tensor);

  std::size_t extent(MeshDim dim) const { return extent_[static_cast<std::size_t>(dim)]; }
  /// Coordinate of the i-th device.
  std::size_t coordinate(std::size_t device, MeshDim dim) const;
  /// Groups of devices that differ only in these coordinates, in their order; groups are sorted by the other
  /// coordinates.
  std::vector<Devices> groups(std::initializer_list<MeshDim> dims) const;
  std::vector<Devices> groups(MeshDim dim) const { return groups({dim}); }
  /// Devices with this coordinate of `data`, sorted by their other coordinates.
  std::span<const core::DeviceId> replica(std::size_t data) const;

 private:
  std::span<const core::DeviceId> devices_;
  std::array<std::size_t, kMeshDims> extent_;
};

}  // namespace penstock::plan
