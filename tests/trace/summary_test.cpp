#include "penstock/trace/summary.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "penstock/core/error.hpp"
#include "support/near.hpp"

using namespace penstock::trace;
using namespace penstock::core;
using penstock::support::near;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;

Span span(TaskKind kind, std::size_t device, std::int64_t start, std::int64_t end) {
  return {kind,
          DeviceId(device),
          DeviceId(),
          StageId(device),
          0,
          Picoseconds(start * kSecond),
          Picoseconds(end * kSecond),
          Bytes()};
}

Span transfer(std::size_t from, std::size_t to, std::int64_t start, std::int64_t end) {
  Span out = span(TaskKind::transfer, from, start, end);
  out.peer = DeviceId(to);
  return out;
}

Trace empty(std::size_t devices, std::int64_t seconds) {
  Trace out;
  out.mini_batch = 20;
  out.iteration = Picoseconds(seconds * kSecond);
  out.devices.resize(devices);
  return out;
}

MemoryPoint point(std::int64_t second, std::int64_t activations, std::int64_t buffers) {
  return {Picoseconds(second * kSecond), Bytes(activations), Bytes(buffers)};
}

}  // namespace

TEST_CASE(
    "devices that never wait have a bubble of zero, whatever rounding leaves: 3 mini-batches of T in 3 T") {
  for (std::int64_t picoseconds = 1; picoseconds <= 300; ++picoseconds) {
    CAPTURE(picoseconds);
    Trace trace = empty(1, 0);
    trace.iteration = Picoseconds(picoseconds);
    trace.mini_batches = 3;
    trace.spans = {span(TaskKind::forward, 0, 0, 0)};
    trace.spans[0].end = 3 * trace.iteration;
    const double bubble = summarise(trace).bubble;
    CHECK(bubble == 0);
    CHECK_FALSE(std::signbit(bubble));
  }
}

TEST_CASE("the bubble is the idle share, mean over the devices") {
  // second    0 1 2 3 4 5 6 7 8 9
  // device 0  F F . . . . B B B B   busy 6 of 10, idle 0.4
  // device 1  . . F F B B . . . .   busy 4 of 10, idle 0.6
  Trace trace = empty(2, 10);
  trace.spans = {span(TaskKind::forward, 0, 0, 2), span(TaskKind::forward, 1, 2, 4),
                 span(TaskKind::backward, 1, 4, 6), span(TaskKind::backward, 0, 6, 10)};
  const Summary summary = summarise(trace);
  CHECK(summary.devices[0].busy == Seconds(6));
  CHECK(summary.devices[1].busy == Seconds(4));
  CHECK(summary.bubble == near(0.5));
  CHECK(summary.samples_per_second == near(2.0));  // 20 samples in 10 s
  CHECK(summary.exposed_communication == 0);
}

TEST_CASE("communication is exposed only while its device computes nothing") {
  // second    0 1 2 3 4 5 6 7 8 9
  // device 0  F F F . . . . B . .   sends in [2, 5): second 2 is hidden, 3 and 4 are exposed
  // device 1  . . . . . F F . . .   receives in [2, 5): all three exposed
  // both reduce in [8, 10): two more seconds each
  Trace trace = empty(2, 10);
  trace.spans = {span(TaskKind::forward, 0, 0, 3),     transfer(0, 1, 2, 5),
                 span(TaskKind::forward, 1, 5, 7),     span(TaskKind::backward, 0, 7, 8),
                 span(TaskKind::all_reduce, 0, 8, 10), span(TaskKind::all_reduce, 1, 8, 10)};
  const Summary summary = summarise(trace);
  CHECK(summary.devices[0].exposed_communication == Seconds(4));
  CHECK(summary.devices[1].exposed_communication == Seconds(5));
  CHECK(summary.exposed_communication == near(0.45));  // 9 of 2 x 10 device seconds
  CHECK(summary.devices[0].busy == Seconds(4));        // an all-reduce is not computing
}

TEST_CASE("two transfers at once are exposed once") {
  // Device 0 receives in [0, 3) from 1 and in [1, 4) from 2: four seconds, not six.
  Trace trace = empty(3, 10);
  trace.spans = {transfer(1, 0, 0, 3), transfer(2, 0, 1, 4)};
  CHECK(summarise(trace).devices[0].exposed_communication == Seconds(4));
}

TEST_CASE("the memory peak is the first moment of the largest sum") {
  Trace trace = empty(2, 10);
  trace.devices[0].fixed[static_cast<std::size_t>(MemoryKind::weights)] = Bytes(100);
  // 100 fixed + 30 = 130 at 1 s; 100 + 20 + 20 = 140 at 3 s and again at 7 s.
  trace.devices[0].memory = {point(0, 0, 0), point(1, 30, 0), point(3, 20, 20), point(5, 0, 0),
                             point(7, 40, 0)};
  const Summary summary = summarise(trace);
  CHECK(summary.devices[0].peak == Bytes(140));
  CHECK(summary.devices[0].peak_time == Picoseconds(3 * kSecond));
  CHECK(summary.devices[0].at_peak ==
        MemoryByKind{Bytes(100), Bytes(), Bytes(), Bytes(), Bytes(20), Bytes(20)});
  CHECK(summary.peak_memory == Bytes(140));
  CHECK(summary.devices[1].peak == Bytes(0));  // nothing recorded, nothing held
}

TEST_CASE("a peak belongs to the task that runs then; a backward pass goes first") {
  Trace trace = empty(1, 10);
  trace.spans = {span(TaskKind::forward, 0, 0, 3), span(TaskKind::backward, 0, 4, 7),
                 span(TaskKind::step, 0, 9, 10)};
  auto& device = trace.devices[0];
  device.memory = {point(0, 10, 0), point(1, 50, 0), point(2, 0, 0)};
  CHECK(summarise(trace).devices[0].moment == TaskKind::forward);
  device.memory = {point(0, 50, 0), point(3, 50, 0), point(5, 0, 0)};
  CHECK(summarise(trace).devices[0].moment == TaskKind::backward);

  at(device.fixed, MemoryKind::weights) = Bytes(100);
  at(device.fixed, MemoryKind::workspace) = Bytes(5);
  device.step = Bytes(55);
  CHECK(summarise(trace).devices[0].moment == TaskKind::backward);
  device.step = Bytes(56);
  const auto found = summarise(trace).devices[0];
  CHECK(found.moment == TaskKind::step);
  CHECK(found.peak == Bytes(156));
  CHECK(found.peak_time == Picoseconds(9 * kSecond));
  MemoryByKind expected{};
  at(expected, MemoryKind::weights) = Bytes(100);
  at(expected, MemoryKind::step) = Bytes(56);
  CHECK(found.at_peak == expected);
}

TEST_CASE("memory replaced in the same instant never counts") {
  Trace trace = empty(1, 10);
  trace.devices[0].memory = {point(0, 10, 0), point(2, 99, 0), point(2, 20, 0)};
  CHECK(summarise(trace).devices[0].peak == Bytes(20));
}

TEST_CASE("an empty trace has no rates, and a foreign device is refused") {
  CHECK(summarise(Trace{}).samples_per_second == 0);
  Trace trace = empty(1, 10);
  trace.spans = {span(TaskKind::forward, 1, 0, 1)};
  CHECK_THROWS_AS(summarise(trace), Error);
}

TEST_CASE("kinds have readable names") {
  CHECK(name(TaskKind::all_reduce) == "all-reduce");
  CHECK(name(MemoryKind::optimizer) == "optimizer");
}
