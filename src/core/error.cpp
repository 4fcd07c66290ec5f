#include "penstock/core/error.hpp"

namespace penstock::core {
namespace {

std::string located(const Place& place, const std::string& message) {
  std::string out = place.file;
  if (place.line > 0) out += ":" + std::to_string(place.line);
  if (!out.empty()) out += ": ";
  if (!place.key.empty()) out += place.key + ": ";
  return out + message;
}

}  // namespace

BadInput::BadInput(const Place& place, const std::string& message)
    : Error(ExitCode::bad_input, located(place, message)) {}

void require(bool condition, const char* promise) {
  if (!condition) throw Error(ExitCode::internal, std::string("broken promise: ") + promise);
}

}  // namespace penstock::core
