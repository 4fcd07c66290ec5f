#pragma once
// A stage's devices, arranged by named dimensions.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Outermost first: devices of one tensor-parallel group follow each other in Stage::devices.
enum class MeshDim : std::uint8_t {
  data,    ///< replicas: each has samples of its own
  tensor,  ///< devices that compute one replica's operators together
};

/// As a mesh of GSPMD (Xu et al., 2021) or a DeviceMesh of DTensor: a device has a coordinate in every
/// dimension. A view, which the devices must outlive.
class Mesh {
 public:
  using Devices = std::vector<core::DeviceId>;

  explicit Mesh(const Stage& stage) : Mesh(stage.devices, stage.tensor_parallel) {}
  /// `devices` divide into groups of `tensor`.
  Mesh(std::span<const core::DeviceId> devices, int tensor);

  std::size_t extent(MeshDim dim) const { return extent_[static_cast<std::size_t>(dim)]; }
  /// Of the i-th device.
  std::size_t coordinate(std::size_t device, MeshDim dim) const;
  /// Devices that differ in this coordinate alone, in its order; by their other coordinate.
  std::vector<Devices> groups(MeshDim dim) const;
  /// The devices with this coordinate of `data`, by their other one.
  std::span<const core::DeviceId> replica(std::size_t data) const;

 private:
  std::span<const core::DeviceId> devices_;
  std::array<std::size_t, 2> extent_;
};

}  // namespace penstock::plan
