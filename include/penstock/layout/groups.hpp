#pragma once
// Which devices of a stage take part in a collective together.

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::layout {

enum class Among : std::uint8_t {
  tensor,          ///< those that compute the operators of one group together
  context,         ///< those that have tokens of their own of one replica's samples
  experts,         ///< those that have all experts between them
  sharers,         ///< those that hold one part each of the weights that ZeRO shards
  expert_sharers,  ///< likewise, of one expert's weights
};

/// Whether they exchange weights and gradients, once for all samples, or activations of each.
constexpr bool exchanges_weights(Among among) {
  return among == Among::sharers || among == Among::expert_sharers;
}

inline constexpr std::array kAmong = {Among::tensor, Among::context, Among::experts, Among::sharers,
                                      Among::expert_sharers};

/// Whether devices of a stage wait for each other so within passes.
bool meet(const plan::Stage& stage, Among among);

/// All such groups of a stage, each in the order of its members.
std::vector<std::vector<core::DeviceId>> groups(const plan::Stage& stage, Among among);

}  // namespace penstock::layout
