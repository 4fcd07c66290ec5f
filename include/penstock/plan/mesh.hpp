#pragma once
// A stage's devices, arranged by named dimensions.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::plan {

inline constexpr std::size_t kMeshDims = kStatedDims.size() + 1;

/// As a mesh of GSPMD (Xu et al., 2021) or a DeviceMesh of DTensor: a device has a coordinate in every
/// dimension. A view, which the devices must outlive.
class Mesh {
 public:
  using Devices = std::vector<core::DeviceId>;

  explicit Mesh(const Stage& stage);
  /// `devices` divide into replicas of one tensor-parallel group each.
  explicit Mesh(std::span<const core::DeviceId> devices, int tensor);

  std::size_t extent(MeshDim dim) const { return extent_[static_cast<std::size_t>(dim)]; }
  /// Of the i-th device.
  std::size_t coordinate(std::size_t device, MeshDim dim) const;
  /// Devices that differ in these coordinates alone, in their order; by their other coordinates.
  std::vector<Devices> groups(std::initializer_list<MeshDim> dims) const;
  std::vector<Devices> groups(MeshDim dim) const { return groups({dim}); }
  /// The devices with this coordinate of `data`, by their other ones.
  std::span<const core::DeviceId> replica(std::size_t data) const;

 private:
  std::span<const core::DeviceId> devices_;
  std::array<std::size_t, kMeshDims> extent_;
};

}  // namespace penstock::plan
