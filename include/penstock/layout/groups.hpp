#pragma once
// Groups of devices of a stage that take part in a collective together.

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::layout {

enum class Among : std::uint8_t {
  tensor,          ///< devices that compute each operator of a group together
  context,         ///< devices that hold different tokens of one replica's samples
  experts,         ///< devices that together hold all experts
  sharers,         ///< devices that each hold one shard of the weights under ZeRO
  expert_sharers,  ///< devices that each hold one shard of an expert's weights under ZeRO
};

/// True if the group exchanges weights and gradients (once for all samples); false for activations (per
/// sample).
constexpr bool exchanges_weights(Among among) {
  return among == Among::sharers || among == Among::expert_sharers;
}

inline constexpr std::array kAmong = {Among::tensor, Among::context, Among::experts, Among::sharers,
                                      Among::expert_sharers};

/// True if devices of the stage wait for each other in such a group within passes.
bool meet(const plan::Stage& stage, Among among);

/// All groups of this kind in a stage, each in the order of its members.
std::vector<std::vector<core::DeviceId>> groups(const plan::Stage& stage, Among among);

}  // namespace penstock::layout
