#include "penstock/trace/trace.hpp"

#include <array>

namespace penstock::trace {

std::string_view name(TaskKind kind) {
  constexpr std::array<std::string_view, kTaskKinds> names = {
      "forward", "backward", "input gradient", "weight gradient", "recompute", "step", "transfer", "all-reduce"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace penstock::trace
