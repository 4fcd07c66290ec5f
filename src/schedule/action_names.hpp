#pragma once
// Letters of the token grammar, shared by its writer and its reader.

#include <array>
#include <string_view>
#include <utility>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

inline constexpr std::array<std::pair<std::string_view, ActionKind>, 16> kActionNames = {{
    {"F", ActionKind::forward},
    {"I", ActionKind::input_gradient},
    {"W", ActionKind::weight_gradient},
    {"B", ActionKind::backward},
    {"SEND_F", ActionKind::send_forward},
    {"RECV_F", ActionKind::receive_forward},
    {"SEND_B", ActionKind::send_backward},
    {"RECV_B", ActionKind::receive_backward},
    {"UNSHARD", ActionKind::unshard},
    {"RESHARD", ActionKind::reshard},
    {"REDUCE_GRAD", ActionKind::reduce_gradient},
    {"R", ActionKind::recompute},
    {"EVICT", ActionKind::evict},
    {"LOAD", ActionKind::load},
    {"STEP", ActionKind::step},
    {"BARRIER", ActionKind::barrier},
}};

constexpr std::string_view action_name(ActionKind kind) {
  for (const auto& [name, named] : kActionNames)
    if (named == kind) return name;
  return "";
}

constexpr bool has_micro_batch(ActionKind kind) {
  return kind != ActionKind::unshard && kind != ActionKind::reshard && kind != ActionKind::reduce_gradient &&
         kind != ActionKind::step && kind != ActionKind::barrier && kind != ActionKind::idle;
}

}  // namespace penstock::schedule
