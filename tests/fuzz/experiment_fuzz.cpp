// An experiment file of any bytes is read or refused. The cells of an accepted one have their own names.

#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/experiment/spec.hpp"
#include "support/checkout.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find("/dev") != std::string::npos) return 0;  // a path that never ends is no parser's business
  try {
    for (const auto& cell : experiment::parse_spec(text, support::checkout("/experiments/fuzz.yaml")).cells)
      core::require(!experiment::cell_name(cell).empty(), "a cell has a name");
  } catch (const core::BadInput&) {
  }
  return 0;
}
