// A profile of any bytes is read or refused. An accepted one has times for every batch size.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/cost/profile.hpp"
#include "support/tiny.hpp"

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const graph::OpGraph pair = support::tiny_graph(2, {{0, 1}});
  const cluster::DeviceType any{};
  try {
    const auto costs = cost::parse_profile(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    for (const std::size_t op : {0, 1})
      for (const std::int64_t samples : {1, 3, 1 << 30}) {
        const auto time = costs.op_time(pair, core::OpId(op), any, samples);
        core::require(time.forward.value() >= 0 && std::isfinite(time.backward().value()),
                      "a profiled time is finite and not negative");
      }
  } catch (const core::BadInput&) {
  }
  return 0;
}
