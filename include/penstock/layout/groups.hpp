#pragma once
// Groups of devices of a stage that take part in a collective together.

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::layout {

enum class GroupScope : std::uint8_t {
  tensor,          ///< devices that compute each operator of a group together
  context,         ///< devices that hold different tokens of one replica's samples
  experts,         ///< devices that together hold all experts
  sharers,         ///< devices that each hold one shard of the weights under ZeRO
  expert_sharers,  ///< devices that each hold one shard of an expert's weights under ZeRO
};

/// True if the group exchanges weights and gradients (once for all samples); false for activations (per
/// sample).
constexpr bool exchanges_weights(GroupScope among) {
  return among == GroupScope::sharers || among == GroupScope::expert_sharers;
}

inline constexpr std::array kAmong = {GroupScope::tensor, GroupScope::context, GroupScope::experts,
                                      GroupScope::sharers, GroupScope::expert_sharers};

/// True if devices of the stage wait for each other in such a group within passes.
bool meet(const plan::Stage& stage, GroupScope among);

/// All groups of this kind in a stage, each in the order of its members.
std::vector<std::vector<core::DeviceId>> groups(const plan::Stage& stage, GroupScope among);

}  // namespace penstock::layout
