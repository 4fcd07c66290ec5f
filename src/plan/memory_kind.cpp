#include "penstock/plan/memory_kind.hpp"

namespace penstock::plan {

std::string_view name(MemoryKind kind) {
  constexpr std::array<std::string_view, kMemoryKinds> names = {
      "weights", "gradients", "optimizer", "workspace", "activations", "buffers", "versions"};
  return names[static_cast<std::size_t>(kind)];
}

core::Bytes total(const MemoryByKind& memory) {
  core::Bytes sum;
  for (core::Bytes bytes : memory) sum += bytes;
  return sum;
}

}  // namespace penstock::plan
