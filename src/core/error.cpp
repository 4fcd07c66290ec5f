#include "penstock/core/error.hpp"

#include <fmt/format.h>

namespace penstock::core {
namespace {

std::string located(const InputPlace& place, const std::string& message) {
  const std::string line = place.line > 0 ? fmt::format(":{}", place.line) : "";
  const std::string key = place.key.empty() ? "" : fmt::format("{}: ", place.key);
  return place.file.empty() ? key + message : fmt::format("{}{}: {}{}", place.file, line, key, message);
}

}  // namespace

BadInput::BadInput(const InputPlace& place, const std::string& message)
    : Error(ExitCode::bad_input, located(place, message)), place_(place) {}

void require(bool condition, const char* promise) {
  if (!condition) throw Error(ExitCode::internal, fmt::format("broken promise: {}", promise));
}

}  // namespace penstock::core
