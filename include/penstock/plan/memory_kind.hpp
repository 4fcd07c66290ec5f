#pragma once
// Kinds of device memory; reports have one line for each.

#include <array>
#include <cstdint>
#include <string_view>

#include "penstock/core/units.hpp"

namespace penstock::plan {

enum class MemoryKind : std::uint8_t {
  weights,
  gradients,    ///< gradients of weights, accumulated over the mini-batch
  optimizer,    ///< optimizer state
  workspace,    ///< gradients alive during an operator's backward pass, and scratch memory of its kernels
  activations,  ///< kept from forward to backward for every micro-batch in flight
  /// Tensors received from other stages and not yet consumed, and what a split backward pass keeps for its
  /// weight gradients.
  buffers,
  versions,  ///< older weights, and weight-sized buffers that training without a flush needs
  buckets,   ///< buffers in which a framework reduces gradients
  step,      ///< copies and temporaries of the optimizer's step (cluster::FrameworkMemory)
};
inline constexpr std::size_t kMemoryKinds = 9;
std::string_view name(MemoryKind kind);

using MemoryByKind = std::array<core::Bytes, kMemoryKinds>;  ///< indexed by MemoryKind

inline core::Bytes& at(MemoryByKind& memory, MemoryKind kind) {
  return memory[static_cast<std::size_t>(kind)];
}
inline core::Bytes at(const MemoryByKind& memory, MemoryKind kind) {
  return memory[static_cast<std::size_t>(kind)];
}
/// Bytes at the fuller of two moments. During passes there is no `step`; during the optimizer's step there are
/// no workspace, activations and buffers.
core::Bytes total(const MemoryByKind& memory);

}  // namespace penstock::plan
