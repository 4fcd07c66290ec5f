#pragma once
// A stage's devices, arranged by named dimensions.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Outermost first, as Megatron-LM's "tp-cp-dp": devices of one tensor-parallel group follow each other in
/// Stage::devices, and its context group's next one stands behind them.
enum class MeshDim : std::uint8_t {
  data,     ///< replicas: each has samples of its own
  context,  ///< groups that have tokens of their own of one replica's samples
  tensor,   ///< devices that compute the operators of one group together
};
inline constexpr std::size_t kMeshDims = 3;

/// As a mesh of GSPMD (Xu et al., 2021) or a DeviceMesh of DTensor: a device has a coordinate in every
/// dimension. A view, which the devices must outlive.
class Mesh {
 public:
  using Devices = std::vector<core::DeviceId>;

  explicit Mesh(const Stage& stage) : Mesh(stage.devices, stage.tensor_parallel, stage.context_parallel) {}
  /// `devices` divide into replicas of `context` groups of `tensor`.
  explicit Mesh(std::span<const core::DeviceId> devices, int tensor, int context = 1);

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
