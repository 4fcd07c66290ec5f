#include "penstock/trace/trace.hpp"

#include "penstock/core/error.hpp"

namespace penstock::trace {
namespace {

constexpr std::string_view kTaskNames[] = {"forward", "backward", "transfer", "all-reduce"};
constexpr std::string_view kMemoryNames[] = {"weights",   "gradients",   "optimizer",
                                             "workspace", "activations", "buffers"};
static_assert(std::size(kMemoryNames) == kMemoryKinds);

template <std::size_t N>
std::string_view entry(const std::string_view (&names)[N], std::size_t index) {
  core::require(index < N, "every kind has a name");
  return names[index];
}

}  // namespace

std::string_view name(TaskKind kind) {
  return entry(kTaskNames, static_cast<std::size_t>(kind));
}
std::string_view name(MemoryKind kind) {
  return entry(kMemoryNames, static_cast<std::size_t>(kind));
}

}  // namespace penstock::trace
