#include "penstock/report/cell_data.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "penstock/core/error.hpp"
#include "report/base64.hpp"
#include "support/drawn_trace.hpp"

using namespace penstock;

namespace {

report::CellData drawn(const support::DrawnShape& shape) {
  report::CellData cell;
  cell.trace = support::DrawnTrace::make(shape);
  for (std::size_t s = 0; s < shape.stages; ++s) {
    plan::Stage stage;
    stage.operators = {core::OpId(s)};
    stage.devices = {core::DeviceId(s)};
    cell.plan.stages.push_back(stage);
    if (s > 0) cell.boundaries.push_back({core::StageId(s - 1), core::StageId(s), core::Bytes(100)});
  }
  cell.path = {{core::DeviceId(1), "compute", core::Picoseconds(0), core::Picoseconds(7)},
               {{}, "transfer", core::Picoseconds(7), core::Picoseconds(9)}};
  cell.shares = {{"device 1 </script>", core::Picoseconds(7), 7.0 / 9, core::Picoseconds(2)},
                 {"link", core::Picoseconds(2), 2.0 / 9, {}}};
  return cell;
}

/// Undoes base64 by looking every digit up: slow, and written apart from the encoder.
std::string bytes_of(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bits, out;
  for (const char c : text)
    for (int b = 5; c != '=' && b >= 0; --b) bits += digits.find(c) >> b & 1 ? '1' : '0';
  for (std::size_t i = 0; i + 8 <= bits.size(); i += 8)
    out += static_cast<char>(std::stoi(bits.substr(i, 8), nullptr, 2));
  return out;
}

std::string inflated(const std::string& bytes, std::size_t size) {
  std::string out(size, '\0');
  uLongf got = size;
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(out.data()), &got, reinterpret_cast<const Bytef*>(bytes.data()),
                     bytes.size()) == Z_OK);
  out.resize(got);
  return out;
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

TEST_CASE("what is packed unpacks to the JSON, and means nothing to HTML") {
  const report::CellData cell = drawn({});
  const std::string json = report::to_json(cell), text = report::packed(cell);
  CHECK(text.find_first_of("<>&\"' ") == text.npos);
  CHECK(inflated(bytes_of(text), json.size()) == json);
  CHECK(text.size() < json.size());
}

TEST_CASE("every span is on its device, its start counted from the one before") {
  const report::CellData cell = drawn({.stages = 3, .micro_batches = 4});
  const auto json = nlohmann::json::parse(report::to_json(cell));
  REQUIRE(json["devices"].size() == 3);
  std::size_t seen = 0;
  for (std::size_t d = 0; d < 3; ++d)
    for (const auto& [list, width] : {std::pair{"compute", 5U}, {"communication", 7U}}) {
      const auto& numbers = json["devices"][d][list];
      std::int64_t start = 0;
      std::size_t i = 0;
      for (const trace::Span& span : cell.trace.spans) {
        if (span.device.index() != d || trace::computes(span.kind) != (width == 5)) continue;
        start += numbers[i + 3].get<std::int64_t>();
        CHECK(start == span.start.value());
        CHECK(numbers[i + 4] == (span.end - span.start).value());
        CHECK(numbers[i + 2] == span.micro_batch);
        CHECK(json["kinds"][numbers[i].get<std::size_t>()] == std::string(trace::name(span.kind)));
        if (width == 7)
          CHECK(numbers[i + 5] == (span.peer.valid() ? static_cast<int>(span.peer.index()) : -1));
        i += width, ++seen;
      }
      CHECK(i == numbers.size());
    }
  CHECK(seen == cell.trace.spans.size());
}

TEST_CASE("stages, edges, path and shares are told") {
  const auto json = nlohmann::json::parse(report::to_json(drawn({.stages = 2, .micro_batches = 1})));
  CHECK(json["stages"][1]["devices"] == nlohmann::json({1}));
  CHECK(json["edges"] == nlohmann::json::parse("[[0, 1, 100]]"));
  CHECK(json["path"] == nlohmann::json::parse(R"([[1, "compute", 0, 7], [-1, "transfer", 7, 9]])"));
  CHECK(json["shares"][0]["without"] == 2);
  CHECK(json["shares"][1]["without"].is_null());
  CHECK(json["iteration"] == json["length"]);
}

TEST_CASE("a trace too large for a page is refused") {
  report::CellData cell = drawn({.stages = 1, .micro_batches = 1});
  cell.trace.spans.resize(report::kMostSpansOfPage + 1, cell.trace.spans.front());
  CHECK_THROWS_AS(report::packed(cell), core::Error);
}
