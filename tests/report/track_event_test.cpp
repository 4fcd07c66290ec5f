#include "penstock/report/track_event.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

#include "penstock/core/random.hpp"
#include "support/drawn_trace.hpp"
#include "support/golden.hpp"
#include "support/tiny.hpp"
#include "support/track_event_reader.hpp"

using namespace penstock;
using support::ReadSlice;
using support::ReadTrace;
using trace::Span;
using trace::TaskKind;

namespace {

constexpr std::int64_t kNano = 1000;  // ps

std::string written(const trace::Trace& trace, const cluster::Cluster* cluster = nullptr) {
  std::string out;
  report::write_track_events(trace, cluster, [&](std::string_view piece) { out += piece; });
  return out;
}

ReadTrace read(const trace::Trace& trace, const cluster::Cluster* cluster = nullptr) {
  return support::read_track_events(written(trace, cluster));
}

Span span(TaskKind kind, std::size_t device, std::int64_t start, std::int64_t end, std::size_t peer = 0) {
  Span out;
  out.kind = kind;
  out.device = core::DeviceId(device);
  out.stage = core::StageId(device);
  out.micro_batch = kind == TaskKind::all_reduce ? -1 : 0;
  out.start = core::Picoseconds(start);
  out.end = core::Picoseconds(end);
  if (kind == TaskKind::transfer) out.peer = core::DeviceId(peer), out.bytes = core::Bytes(100);
  return out;
}

/// Devices with stages of their own, passes one after the other, transfers and all-reduces at any time; a few
/// spans take no time, and memory moves in steps. Micro-batches are numbered in order of start.
trace::Trace random_trace(std::uint64_t seed) {
  core::Random random(seed);
  trace::Trace trace;
  const int devices = random.between(2, 5);
  const auto any = [&] { return static_cast<std::size_t>(random.between(0, devices - 1)); };
  for (int d = 0; d < devices; ++d) {
    trace::DeviceTrace device{{core::StageId(static_cast<std::size_t>(d))}, core::Bytes(1000), {}, {}};
    at(device.fixed, plan::MemoryKind::weights) = core::Bytes(random.between(0, 1));
    for (int t = 0; t < 40; t += random.between(1, 9))
      device.memory.push_back({core::Picoseconds(t * kNano), core::Bytes(random.between(0, 3)),
                               core::Bytes(random.between(0, 3))});
    trace.devices.push_back(device);
    std::int64_t now = 0;
    for (int m = 0; m < random.between(0, 9); ++m) {
      const std::int64_t start = now + random.between(0, 2) * kNano;
      now = start + random.between(0, 5) * kNano;
      const auto kind = random.chance(0.5) ? TaskKind::forward : TaskKind::backward;
      trace.spans.push_back(span(kind, static_cast<std::size_t>(d), start, now));
      trace.spans.back().micro_batch = m;
    }
  }
  for (int i = random.between(0, 40); i > 0; --i) {
    const std::int64_t start = random.between(0, 40) * kNano;
    const std::size_t from = any(), to = (from + 1) % trace.devices.size();
    const auto kind = random.chance(0.1) ? TaskKind::all_reduce : TaskKind::transfer;
    trace.spans.push_back(span(kind, from, start, start + random.between(0, 9) * kNano, to));
    trace.spans.back().bytes = core::Bytes(random.between(0, 5));
  }
  std::stable_sort(trace.spans.begin(), trace.spans.end(),
                   [](const Span& a, const Span& b) { return a.start < b.start; });
  return trace;
}

using Row = std::array<std::string, 4>;  // track, category and times, annotations, stacked-up rest

std::string at_device(core::DeviceId device, const char* stream) {
  const std::string number = std::to_string(device.index());
  return "device " + number + ", stage " + number + "/" + stream;
}

/// A slice without its name and flows.
Row row(const std::string& track, const ReadSlice& slice) {
  std::string notes;
  for (const auto& [name, value] : slice.notes) notes += name + " " + std::to_string(value) + ";";
  return {track, slice.category, std::to_string(slice.start) + ".." + std::to_string(slice.end), notes};
}

std::multiset<Row> rows(const ReadTrace& read) {
  std::multiset<Row> out;
  for (const ReadSlice& slice : read.slices) out.insert(row(read.path(slice.track), slice));
  return out;
}

std::multiset<Row> rows(const trace::Trace& trace) {
  std::multiset<Row> out;
  for (const Span& s : trace.spans) {
    ReadSlice slice;
    slice.category = name(s.kind);
    slice.start = s.start.value() / kNano;
    slice.end = s.end.value() / kNano;
    slice.notes["stage"] = static_cast<std::int64_t>(s.stage.index());
    if (s.micro_batch >= 0) slice.notes["micro-batch"] = s.micro_batch;
    if (s.bytes.value() > 0) slice.notes["bytes"] = s.bytes.value();
    const bool moves = s.kind == TaskKind::transfer;
    if (moves) slice.notes["to device"] = static_cast<std::int64_t>(s.peer.index());
    const char* stream = moves ? "send" : s.kind == TaskKind::all_reduce ? "all-reduce" : "compute";
    out.insert(row(at_device(s.device, stream), slice));
    if (!moves) continue;
    slice.notes.erase("to device");
    slice.notes["from device"] = static_cast<std::int64_t>(s.device.index());
    out.insert(row(at_device(s.peer, "receive"), slice));
  }
  return out;
}

/// The value that a viewer shows at a moment: the last sample up to then, zero without any.
std::int64_t shown(const ReadTrace& read, const std::string& path, std::int64_t nano) {
  std::int64_t value = 0;
  for (const auto& [id, track] : read.tracks)
    if (track.counter && read.path(id) == path)
      for (const auto& [time, sample] : track.samples)
        if (time <= nano) value = sample;
  return value;
}

void check_counters(const trace::Trace& trace, const ReadTrace& read) {
  for (std::int64_t t = 0; t < 60; ++t)
    for (std::size_t d = 0; d < trace.devices.size(); ++d) {
      std::int64_t activations = 0, buffers = 0, sending = 0, receiving = 0;
      for (const trace::MemoryPoint& point : trace.devices[d].memory)
        if (point.time.value() <= t * kNano)
          activations = point.activations.value(), buffers = point.buffers.value();
      for (const Span& s : trace.spans) {
        if (s.kind != TaskKind::transfer || s.start.value() > t * kNano || s.end.value() <= t * kNano)
          continue;
        if (s.device.index() == d) sending += s.bytes.value();
        if (s.peer.index() == d) receiving += s.bytes.value();
      }
      const core::DeviceId device(d);
      CHECK(shown(read, at_device(device, "memory: activations"), t) == activations);
      CHECK(shown(read, at_device(device, "memory: buffers"), t) == buffers);
      CHECK(shown(read, at_device(device, "memory: weights"), t) == trace.devices[d].fixed[0].value());
      CHECK(shown(read, at_device(device, "sending"), t) == sending);
      CHECK(shown(read, at_device(device, "receiving"), t) == receiving);
    }
}

}  // namespace

TEST_CASE("random traces come back whole: every slice, every level of every counter") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const trace::Trace trace = random_trace(seed);
    const ReadTrace back = read(trace);  // checks nesting and interning
    CHECK(rows(back) == rows(trace));
    check_counters(trace, back);
  }
}

TEST_CASE("two stages and two micro-batches, as a viewer sees them") {
  const auto cluster = support::tiny_cluster(2);
  const auto trace = support::drawn_trace({.stages = 2, .micro_batches = 2});
  support::check_golden("track_event_2x2.txt", support::to_text(read(trace, &cluster)));
}

TEST_CASE("a slice begins at the moment a device runs out of memory") {
  trace::Trace trace;
  trace.devices.push_back({{core::StageId(0)}, core::Bytes(10), {}, {}});
  trace.devices[0].memory = {{core::Picoseconds(0), core::Bytes(10), core::Bytes(0)},
                             {core::Picoseconds(3 * kNano), core::Bytes(11), core::Bytes(0)}};
  trace.spans = {span(TaskKind::forward, 0, 3 * kNano, 8 * kNano)};
  const ReadTrace seen = read(trace);
  const auto slice = std::find_if(seen.slices.begin(), seen.slices.end(),
                                  [](const auto& s) { return s.category == "memory"; });
  REQUIRE(slice != seen.slices.end());
  CHECK(seen.path(slice->track) == "device 0, stage 0/out of memory");
  CHECK(
      slice->name ==
      "device 0 runs out of memory at 3.00 ns, in the forward of micro-batch 0 on stage 0: 11.0 B of 10.0 B");
  CHECK(slice->start == 3);
  CHECK(slice->end == 8);
  trace.devices[0].capacity = core::Bytes(11);
  for (const auto& other : read(trace).slices) CHECK(other.category != "memory");
}

TEST_CASE("a flow leads from a forward pass through both ends of its transfer to the next stage") {
  // Device 0: F at 0..10 ns; transfer 10..15 ns; device 1: F at 20..30 ns.
  trace::Trace trace;
  trace.mini_batch = 1;
  trace.devices = {{{core::StageId(0)}, {}, {}, {}}, {{core::StageId(1)}, {}, {}, {}}};
  trace.spans = {span(TaskKind::forward, 0, 0, 10 * kNano),
                 span(TaskKind::transfer, 0, 10 * kNano, 15 * kNano, 1),
                 span(TaskKind::forward, 1, 20 * kNano, 30 * kNano)};
  const ReadTrace back = read(trace);
  REQUIRE(back.slices.size() == 4);
  for (const ReadSlice& slice : back.slices) CHECK(slice.name == "F0");
  using Ids = std::vector<std::uint64_t>;
  CHECK(back.slices[0].flows == Ids{1});  // F
  CHECK(back.slices[1].flows == Ids{1});  // sent
  CHECK(back.slices[2].flows == Ids{1});  // received
  CHECK(back.slices[3].flows.empty());    // the next F: the flow ends here
  CHECK(back.slices[3].ending_flows == Ids{1});
}

TEST_CASE("in a pipeline every flow has its four slices, in order") {
  const ReadTrace back = read(support::drawn_trace({.stages = 4, .micro_batches = 12}));
  std::map<std::uint64_t, std::vector<ReadSlice>> flows;
  for (const ReadSlice& slice : back.slices) {
    for (const std::uint64_t id : slice.flows) flows[id].push_back(slice);
    for (const std::uint64_t id : slice.ending_flows) flows[id].push_back(slice);
  }
  CHECK(flows.size() == 2 * 3 * 12);  // there and back, over three boundaries
  for (auto& [id, slices] : flows) {
    REQUIRE(slices.size() == 4);
    std::stable_sort(slices.begin(), slices.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    CHECK(slices[0].category != "transfer");
    CHECK(slices[0].end <= slices[1].start);
    CHECK(slices[1].notes.contains("to device"));
    CHECK(slices[2].notes.contains("from device"));
    CHECK(slices[2].end <= slices[3].start);
    CHECK(slices[3].ending_flows == std::vector<std::uint64_t>{id});
    for (const ReadSlice& slice : slices) CHECK(slice.name == slices[0].name);  // drawn micro-batches match
  }
}

TEST_CASE("nanoseconds are rounded down, so that neighbours stay neighbours") {
  // 0.9 ns and 1.9 ns become 0 and 1; a slice from 1.9 to 2.0 ns is 1..2, the next from 2.0 to 2.4 ns looks
  // empty.
  trace::Trace trace;
  trace.devices.resize(1);
  trace.spans = {span(TaskKind::forward, 0, 900, 1900), span(TaskKind::forward, 0, 1900, 2000),
                 span(TaskKind::forward, 0, 2000, 2400)};
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const ReadSlice& slice : read(trace).slices) times.emplace_back(slice.start, slice.end);
  CHECK(times == decltype(times){{0, 1}, {1, 2}, {2, 2}});
}

TEST_CASE("a link's load is the sum of the mean rates of the transfers on it") {
  // A star: links 0 and 1 to and from device 0's cable, 2 and 3 device 1's, 4 and 5 device 2's.
  // 100 bytes in 10 ns to device 1 (1e10 bytes/s), from 5 ns on 100 bytes in 20 ns to device 2 (5e9 bytes/s).
  const auto cluster = support::tiny_cluster(3);
  trace::Trace trace;
  trace.devices.resize(3);
  trace.spans = {span(TaskKind::transfer, 0, 0, 10 * kNano, 1),
                 span(TaskKind::transfer, 0, 5 * kNano, 25 * kNano, 2)};
  const ReadTrace back = read(trace, &cluster);
  std::map<std::string, decltype(support::ReadTrack::samples)> load;
  for (const auto& [id, track] : back.tracks)
    if (track.unit == "bytes/s") load[back.path(id)] = track.samples;
  using Load = decltype(load);
  CHECK(load == Load{{"links/link 0: device 0 to point 3",
                      {{0, 10'000'000'000}, {5, 15'000'000'000}, {10, 5'000'000'000}, {25, 0}}},
                     {"links/link 3: point 3 to device 1", {{0, 10'000'000'000}, {10, 0}}},
                     {"links/link 5: point 3 to device 2", {{0, 0}, {5, 5'000'000'000}, {25, 0}}}});
  CHECK(back.path(2) == "device 0 (tiny)");  // serves no stage
}

TEST_CASE("the bytes come in pieces, the same every time") {
  const auto trace = support::drawn_trace({.stages = 4, .micro_batches = 400});
  std::size_t pieces = 0, longest = 0;
  report::write_track_events(trace, nullptr, [&](std::string_view piece) {
    ++pieces;
    longest = std::max(longest, piece.size());
  });
  CHECK(pieces >= 3);
  CHECK(longest < 256 * 1024);
  CHECK(written(trace) == written(trace));
}

TEST_CASE("a million spans take tens of megabytes" * doctest::test_suite("slow")) {
  const auto trace = support::drawn_trace({.stages = 64, .micro_batches = 4096});
  REQUIRE(trace.spans.size() > 1'000'000);
  std::size_t size = 0;
  report::write_track_events(trace, nullptr, [&](std::string_view piece) { size += piece.size(); });
  CHECK(size < 60'000'000);
}
