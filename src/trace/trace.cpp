#include "penstock/trace/trace.hpp"

#include <algorithm>
#include <array>

namespace penstock::trace {

std::string_view name(TaskKind kind) {
  constexpr std::array<std::string_view, kTaskKinds> names = {
      "forward", "backward", "input gradient", "weight gradient", "recompute",
      "step",    "transfer", "all-reduce",     "collective"};
  return names[static_cast<std::size_t>(kind)];
}

core::Picoseconds length(const Trace& trace) {
  core::Picoseconds end = trace.mini_batches == 1 ? trace.iteration : core::Picoseconds(0);
  for (const Span& span : trace.spans) end = std::max(end, span.end);
  return end;
}

}  // namespace penstock::trace
