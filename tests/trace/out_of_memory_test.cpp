#include "penstock/trace/out_of_memory.hpp"

#include <doctest/doctest.h>

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::Picoseconds;
using core::StageId;
using trace::TaskKind;

namespace {

/// Device 0 holds 10 kB throughout. At 5 ns a tensor of 3 kB comes in, at 7 ns the forward of micro-batch 4
/// takes it over as 6 kB of activations. Most: 16 kB, and 13 kB before.
trace::Trace filled(std::int64_t capacity) {
  trace::Trace out;
  out.devices.resize(2);
  out.devices[0].capacity = out.devices[1].capacity = Bytes(capacity);
  out.devices[0].fixed[0] = Bytes(10'000);
  out.devices[0].memory = {{Picoseconds(0), Bytes(0), Bytes(0)},
                           {Picoseconds(5000), Bytes(0), Bytes(3000)},
                           {Picoseconds(7000), Bytes(6000), Bytes(3000)},  // never lasts
                           {Picoseconds(7000), Bytes(6000), Bytes(0)}};
  out.spans = {
      {TaskKind::transfer, DeviceId(1), DeviceId(0), StageId(1), 4, Picoseconds(5000), Picoseconds(7000),
       Bytes(3000)},
      {TaskKind::forward, DeviceId(0), {}, StageId(2), 4, Picoseconds(7000), Picoseconds(9000), Bytes(0)}};
  return out;
}

std::string told(std::int64_t capacity) {
  const auto failures = trace::out_of_memory(filled(capacity));
  return failures.empty() ? "none" : trace::in_words(failures.front());
}

}  // namespace

TEST_CASE("the first moment above capacity is reported, with the task that began then") {
  CHECK(told(16'000) == "none");
  CHECK(told(15'999) ==
        "device 0 runs out of memory at 7.00 ns, in the forward of micro-batch 4 on stage 2: 15.6 KiB of "
        "15.6 KiB");
  CHECK(told(13'000).starts_with("device 0 runs out of memory at 7.00 ns, in the forward"));
  CHECK(told(12'999) ==
        "device 0 runs out of memory at 5.00 ns, with the transfer of micro-batch 4 from device 1: 12.7 KiB "
        "of 12.7 KiB");
  CHECK(told(10'000).starts_with("device 0 runs out of memory at 5.00 ns"));
  CHECK(told(9999) ==
        "device 0 cannot hold its weights, gradients, optimizer state and workspace: 9.77 KiB of 9.76 KiB");
}

TEST_CASE("a step that makes more than a device has fails when it begins") {
  auto run = filled(16'000);
  run.devices[0].fixed[static_cast<std::size_t>(plan::MemoryKind::workspace)] = Bytes(0);
  run.spans.push_back(
      {TaskKind::step, DeviceId(0), {}, StageId(2), -1, Picoseconds(9000), Picoseconds(9500)});
  run.devices[0].step = Bytes(6000);
  CHECK(trace::out_of_memory(run).empty());
  run.devices[0].step = Bytes(6001);
  REQUIRE(trace::out_of_memory(run).size() == 1);
  CHECK(trace::in_words(trace::out_of_memory(run).front()) ==
        "device 0 runs out of memory at 9.00 ns, in the optimizer's step: 15.6 KiB of 15.6 KiB");
}

TEST_CASE("devices that run out are sorted by time") {
  auto both = filled(12'000);
  both.devices[1] = both.devices[0];
  both.devices[1].memory[1].time = Picoseconds(4000);
  const auto failures = trace::out_of_memory(both);
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].device == DeviceId(1));
  CHECK_FALSE(failures[0].span.has_value());
  CHECK(failures[1].device == DeviceId(0));
}
