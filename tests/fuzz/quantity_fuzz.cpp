// A quantity of any text is finite and not negative, or refused. An accepted one can be shown.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"

using namespace penstock::core;

namespace {

template <class T>
void check(const std::optional<T>& quantity) {
  if (!quantity) return;
  const auto value = static_cast<double>(quantity->value());
  require(std::isfinite(value) && value >= 0, "a quantity is finite and not negative");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto seconds = parse_seconds(text);
  const auto bytes = parse_bytes(text);
  check(seconds);
  check(bytes);
  check(parse_bandwidth(text));
  check(parse_flop_rate(text));
  if (const auto share = parse_share(text)) require(std::isfinite(*share) && *share >= 0, "so is a share");
  if (seconds) require(!show(*seconds).empty(), "a time has a written form");
  if (bytes) require(!show(*bytes).empty(), "a size has a written form");
  return 0;
}
