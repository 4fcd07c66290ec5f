#include "penstock/report/perfetto.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "support/drawn_trace.hpp"
#include "support/scratch.hpp"

using namespace penstock;
using nlohmann::json;

namespace {

std::vector<json> events(const trace::Trace& trace, const std::string& phase) {
  std::vector<json> out;
  const json document = json::parse(report::to_perfetto_json(trace));
  for (const json& event : document["traceEvents"])
    if (event["ph"] == phase) out.push_back(event);
  return out;
}

trace::Span transfer(std::size_t from, std::size_t to, std::int64_t start, std::int64_t end) {
  return {trace::TaskKind::transfer, core::DeviceId(from),   core::DeviceId(to), core::StageId(from), 3,
          core::Picoseconds(start),  core::Picoseconds(end), core::Bytes(100)};
}

/// "process/thread" names of the slices, in order of events.
std::vector<std::string> threads(const trace::Trace& trace) {
  std::map<json, std::string> names;
  for (const json& m : events(trace, "M"))
    if (m["name"] == "thread_name") names[m["tid"]] = m["args"]["name"];
  std::vector<std::string> out;
  for (const json& x : events(trace, "X")) out.push_back(x["pid"].dump() + "/" + names.at(x["tid"]));
  return out;
}

}  // namespace

TEST_CASE("every computation is a slice of its device, named by direction and micro-batch") {
  const auto slices = events(support::drawn_trace({.stages = 1, .micro_batches = 1}), "X");
  REQUIRE(slices.size() == 3);  // one forward, one backward, one all-reduce
  CHECK(slices[0]["name"] == "F0");
  CHECK(slices[1]["name"] == "B0");
  CHECK(slices[1]["ts"] == 10000.0);   // the forward pass took 10 ms
  CHECK(slices[1]["dur"] == 20000.0);  // the backward pass twice as long
  CHECK(slices[2]["name"] == "all-reduce");
  CHECK(slices[2]["args"]["stage"] == 0);
}

// Perfetto keeps whole nanoseconds, and drops a slice that begins a nanosecond before another of its thread
// ends.
TEST_CASE("both ends are whole nanoseconds, and slices that follow each other touch") {
  trace::Trace trace;
  trace.devices.resize(2);
  // 1,499 ps end the first two: rounded starts and lengths would give 0 + 1 and 1 + 2 where the third begins
  // at 3.
  trace.spans = {transfer(0, 1, 0, 1'499), transfer(0, 1, 1'499, 2'999), transfer(0, 1, 2'999, 4'500),
                 transfer(0, 1, 1'234'567'000'500, 1'234'567'002'499)};
  const std::string text = report::to_perfetto_json(trace);
  CHECK(text.find("\"ts\":0.000,\"dur\":0.001") != std::string::npos);
  CHECK(text.find("\"ts\":0.001,\"dur\":0.002") != std::string::npos);
  CHECK(text.find("\"ts\":0.003,\"dur\":0.002") != std::string::npos);
  CHECK(text.find("\"ts\":1234567.001,\"dur\":0.001") != std::string::npos);
}

TEST_CASE("a transfer shows at both ends, and concurrent ones never share a thread") {
  trace::Trace trace;
  trace.devices.resize(3);
  // Device 0 sends to 1 and 2 at once, then again to 1 when both are done.
  trace.spans = {transfer(0, 1, 0, 10), transfer(0, 2, 5, 15), transfer(0, 1, 15, 20)};
  CHECK(threads(trace) ==
        std::vector<std::string>{"1/send", "2/receive", "1/send 2", "3/receive", "1/send", "2/receive"});
  CHECK(events(trace, "X")[1]["name"] == "3 from device 0");
}

TEST_CASE("memory is a counter with one series per kind") {
  const auto counters = events(support::drawn_trace({.stages = 1, .micro_batches = 1}), "C");
  REQUIRE(counters.size() == 2);  // up at the forward pass at time 0, down after the backward pass
  CHECK(counters[0]["args"]["activations"] == 2147483648);
  CHECK(counters[1]["ts"] == 30000.0);
  CHECK(counters[1]["args"]["activations"] == 0);
}

TEST_CASE("a name's ending chooses the form, and JSON ends at its limit") {
  const support::ScratchFolder scratch("perfetto_test");
  trace::Trace trace;
  trace.devices.resize(2);
  trace.spans.assign(report::kMostJsonSpans, transfer(0, 1, 0, 0));
  report::write_perfetto(scratch.path("t.json"), trace, nullptr);
  CHECK(core::read_file(scratch.path("t.json")).starts_with("{\"displayTimeUnit\""));
  trace.spans.push_back(transfer(0, 1, 0, 0));
  try {
    report::write_perfetto(scratch.path("u.json"), trace, nullptr);
    FAIL("one span too many");
  } catch (const core::Error& error) {
    CHECK(error.code() == core::ExitCode::limit);
    CHECK(std::string(error.what()).find("u.json: 100001 spans are too many for a JSON trace") !=
          std::string::npos);
  }
  CHECK(!std::filesystem::exists(scratch.path("u.json")));
  report::write_perfetto(scratch.path("u.pftrace"), trace, nullptr);
  CHECK(core::read_file(scratch.path("u.pftrace")).starts_with("\n"));  // field 1, length-delimited
}
