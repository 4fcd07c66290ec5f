#pragma once
// The parts of a training step that an operator has work in.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::graph {

/// The first half of a backward pass gives the gradient of an operator's inputs, the second that of its
/// parameters.
enum class Pass : std::uint8_t { forward, input_gradient, weight_gradient };
inline constexpr std::size_t kPasses = 3;
inline constexpr std::array kAllPasses = {Pass::forward, Pass::input_gradient, Pass::weight_gradient};
constexpr std::string_view name(Pass pass) {
  constexpr std::array<std::string_view, kPasses> names = {"forward", "input_gradient", "weight_gradient"};
  return names[static_cast<std::size_t>(pass)];
}

}  // namespace penstock::graph
