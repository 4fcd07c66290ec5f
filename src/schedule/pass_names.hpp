#pragma once
// The letters of the token grammar, shared by its writer and its reader.

#include <array>
#include <string_view>
#include <utility>

#include "penstock/schedule/grid.hpp"

namespace penstock::schedule {

inline constexpr std::array<std::pair<std::string_view, Pass>, 16> kPassNames = {{
    {"F", Pass::forward},
    {"I", Pass::input_gradient},
    {"W", Pass::weight_gradient},
    {"B", Pass::backward},
    {"SEND_F", Pass::send_forward},
    {"RECV_F", Pass::receive_forward},
    {"SEND_B", Pass::send_backward},
    {"RECV_B", Pass::receive_backward},
    {"UNSHARD", Pass::unshard},
    {"RESHARD", Pass::reshard},
    {"REDUCE_GRAD", Pass::reduce_gradient},
    {"R", Pass::recompute},
    {"EVICT", Pass::evict},
    {"LOAD", Pass::load},
    {"STEP", Pass::step},
    {"BARRIER", Pass::barrier},
}};

constexpr std::string_view pass_name(Pass pass) {
  for (const auto& [name, named] : kPassNames)
    if (named == pass) return name;
  return "";
}

constexpr bool has_micro_batch(Pass pass) {
  return pass != Pass::unshard && pass != Pass::reshard && pass != Pass::reduce_gradient &&
         pass != Pass::step && pass != Pass::barrier && pass != Pass::idle;
}

}  // namespace penstock::schedule
