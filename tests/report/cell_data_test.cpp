#include "penstock/report/cell_data.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "penstock/core/error.hpp"
#include "report/base64.hpp"
#include "support/drawn_trace.hpp"
#include "support/unpacked.hpp"

using namespace penstock;

namespace {

report::CellData drawn(const support::DrawnShape& shape) {
  report::CellData cell;
  cell.trace = support::DrawnTrace::make(shape);
  for (std::size_t s = 0; s < shape.stages; ++s) {
    plan::Stage stage;
    stage.operators = {core::OpId(s)};
    cell.operators.push_back("operator " + std::to_string(s));
    stage.devices = {core::DeviceId(s)};
    cell.plan.stages.push_back(stage);
    if (s > 0) cell.boundaries.push_back({core::StageId(s - 1), core::StageId(s), core::Bytes(100)});
  }
  cell.path = {{core::DeviceId(1), "compute", core::Picoseconds(0), core::Picoseconds(7)},
               {{}, "transfer", core::Picoseconds(7), core::Picoseconds(9)}};
  cell.shares = {{"device 1 </script>", core::Picoseconds(7), 7.0 / 9, core::Picoseconds(2)},
                 {"link", core::Picoseconds(2), 2.0 / 9, {}}};
  cell.waterfall = {{"model", "at peak", core::Picoseconds(4)}, {"bubble", "idle", core::Picoseconds(5)}};
  return cell;
}

}  // namespace

TEST_CASE("base64 is that of RFC 4648, section 10") {
  CHECK(report::base64("") == "");
  CHECK(report::base64("f") == "Zg==");
  CHECK(report::base64("fo") == "Zm8=");
  CHECK(report::base64("foo") == "Zm9v");
  CHECK(report::base64("foob") == "Zm9vYg==");
  CHECK(report::base64("fooba") == "Zm9vYmE=");
  CHECK(report::base64("foobar") == "Zm9vYmFy");
  CHECK(report::base64("\xff\xef\xbe") == "/+++");
}

TEST_CASE("packed data unpacks to the JSON, and is plain text in HTML") {
  const report::CellData cell = drawn({});
  const std::string json = report::to_json(cell), text = report::packed(cell);
  CHECK(text.find_first_of("<>&\"' ") == text.npos);
  CHECK(support::unpacked(text) == json);
  CHECK(text.size() < json.size());
}

TEST_CASE("every span is on its device, its start counted from the one before") {
  const report::CellData cell = drawn({.stages = 3, .micro_batches = 4});
  const auto json = nlohmann::json::parse(report::to_json(cell));
  REQUIRE(json["lanes"].size() == 3);
  std::size_t seen = 0;
  for (std::size_t d = 0; d < 3; ++d)
    for (const auto& [list, width] : {std::pair{"compute", 5U}, {"communication", 6U}}) {
      const auto& numbers = json["lanes"][d][list];
      std::int64_t start = 0;
      std::size_t i = 0;
      for (const trace::Span& span : cell.trace.spans) {
        if (span.device.index() != d || trace::computes(span.kind) != (width == 5)) continue;
        start += numbers[i + 3].get<std::int64_t>();
        CHECK(start == span.start.value());
        CHECK(numbers[i + 4] == (span.end - span.start).value());
        CHECK(numbers[i + 2] == span.micro_batch);
        CHECK(json["kinds"][numbers[i].get<std::size_t>()] == std::string(trace::name(span.kind)));
        if (width == 6)
          CHECK(json["lanes"][d]["peers"][i / width] ==
                (span.peer.valid() ? static_cast<int>(span.peer.index()) : -1));
        i += width, ++seen;
      }
      CHECK(i == numbers.size());
    }
  CHECK(seen == cell.trace.spans.size());
}

TEST_CASE("data has stages, edges, path and shares") {
  const auto json = nlohmann::json::parse(report::to_json(drawn({.stages = 2, .micro_batches = 1})));
  CHECK(json["stages"][1]["devices"] == nlohmann::json({1}));
  CHECK(json["stages"][1]["operators"] == nlohmann::json({"operator 1"}));
  CHECK(json["edges"] == nlohmann::json::parse("[[0, 1, 100]]"));
  CHECK(json["path"] == nlohmann::json::parse(R"([[1, "compute", 0, 7], [-1, "transfer", 7, 9]])"));
  CHECK(json["shares"][0]["without"] == 2);
  CHECK(json["shares"][1]["without"].is_null());
  CHECK(json["iteration"] == json["length"]);
  CHECK(json["waterfall"] == nlohmann::json::parse(R"([["model", "at peak", 4], ["bubble", "idle", 5]])"));
}

namespace {

/// A copy of the trace on twice as many devices: device d + n has the tasks of d, and sends to d + n's
/// neighbours.
trace::Trace doubled(const trace::Trace& trace) {
  trace::Trace out = trace;
  const std::size_t n = trace.devices.size();
  out.devices.insert(out.devices.end(), trace.devices.begin(), trace.devices.end());
  for (trace::Span span : trace.spans) {
    span.device = core::DeviceId(span.device.index() + n);
    if (span.peer.valid()) span.peer = core::DeviceId(span.peer.index() + n);
    out.spans.push_back(span);
  }
  return out;
}

}  // namespace

TEST_CASE("devices with equal work share a lane, for any receivers") {
  report::CellData cell = drawn({.stages = 2, .micro_batches = 3});
  const std::size_t once = report::drawn_spans(cell.trace);
  CHECK(once == cell.trace.spans.size());
  cell.trace = doubled(cell.trace);
  const auto json = nlohmann::json::parse(report::to_json(cell));
  REQUIRE(json["lanes"].size() == 2);
  CHECK(json["lanes"][0]["devices"] == nlohmann::json({0, 2}));
  CHECK(json["lanes"][1]["devices"] == nlohmann::json({1, 3}));
  CHECK(report::drawn_spans(cell.trace) == once);

  SUBCASE("not with another time") {
    cell.trace.spans.back().end += core::Picoseconds(1);
    CHECK(nlohmann::json::parse(report::to_json(cell))["lanes"].size() == 3);
  }
  SUBCASE("not with other memory") {
    cell.trace.devices.back().memory.back().buffers += core::Bytes(1);
    CHECK(nlohmann::json::parse(report::to_json(cell))["lanes"].size() == 3);
  }
  SUBCASE("not on a device of another size") {
    cell.trace.devices.back().capacity += core::Bytes(1);
    CHECK(nlohmann::json::parse(report::to_json(cell))["lanes"].size() == 3);
  }
}

TEST_CASE("a trace too large for a page is refused") {
  report::CellData cell = drawn({.stages = 1, .micro_batches = 1});
  cell.trace.spans.resize(report::kMostSpansOfPage + 1, cell.trace.spans.front());
  CHECK_THROWS_AS(report::packed(cell), core::Error);
}
