#include "penstock/plan/memory_kind.hpp"

#include <algorithm>

namespace penstock::plan {

std::string_view name(MemoryKind kind) {
  constexpr std::array<std::string_view, kMemoryKinds> names = {"weights",   "gradients",   "optimizer",
                                                                "workspace", "activations", "buffers",
                                                                "versions",  "buckets",     "step"};
  return names[static_cast<std::size_t>(kind)];
}

core::Bytes total(const MemoryByKind& memory) {
  core::Bytes sum;
  for (core::Bytes bytes : memory) sum += bytes;
  const core::Bytes step = at(memory, MemoryKind::step), passes = at(memory, MemoryKind::workspace) +
                                                                  at(memory, MemoryKind::activations) +
                                                                  at(memory, MemoryKind::buffers);
  return sum - std::min(step, passes);
}

}  // namespace penstock::plan
