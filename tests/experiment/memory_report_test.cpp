#include "src/experiment/memory_report.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using plan::MemoryKind;

namespace {

constexpr std::int64_t kKiB = 1024;

/// Devices 0 and 1 are fullest in a backward pass, device 2 in the optimizer's step.
trace::Summary three_devices() {
  trace::Summary out;
  out.devices.resize(3);
  for (auto& device : out.devices) {
    at(device.at_peak, MemoryKind::weights) = Bytes(8 * kKiB);
    at(device.at_peak, MemoryKind::activations) = Bytes(3 * kKiB);
    device.peak = Bytes(11 * kKiB);
    device.moment = trace::TaskKind::backward;
  }
  auto& last = out.devices.back();
  at(last.at_peak, MemoryKind::activations) = Bytes(0);
  at(last.at_peak, MemoryKind::step) = Bytes(4 * kKiB);
  last.peak = Bytes(12 * kKiB);
  last.peak_time = core::Picoseconds(2'000'000'000'000);
  last.moment = trace::TaskKind::step;
  return out;
}

}  // namespace

TEST_CASE("devices with the same memory share a line; kinds that none holds have no column") {
  CHECK(experiment::memory_table(support::tiny_cluster(3), three_devices(), {}) ==
        "memory of each device at its peak\n"
        "devices   weights  activations      step      peak  moment\n"
        "-------  --------  -----------  --------  --------  --------\n"
        "0-1      8.00 KiB     3.00 KiB    0.00 B  11.0 KiB  backward\n"
        "2        8.00 KiB       0.00 B  4.00 KiB  12.0 KiB  step\n");
}

TEST_CASE("JSON has every kind, and the moment of the peak") {
  const auto json = experiment::peak_json(three_devices().devices.back());
  CHECK(json["memory_bytes"] == 12 * kKiB);
  CHECK(json["at_s"] == 2.0);
  CHECK(json["moment"] == "step");
  CHECK(json["by_kind"].size() == plan::kMemoryKinds);
  CHECK(json["by_kind"]["step"] == 4 * kKiB);
  CHECK(json["by_kind"]["buffers"] == 0);
}
