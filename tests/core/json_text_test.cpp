#include "penstock/core/json_text.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace penstock;

namespace {

using Json = nlohmann::json;

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']');
}

std::string fault(const std::string& text) {
  try {
    core::parse_json<Json>(text, "a.json");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a document may nest so deep and no deeper, however long it is") {
  CHECK(fault(nested(core::kDeepestJson)) == "none");
  CHECK(fault("{\"a\":\n" + nested(core::kDeepestJson) + "}") ==
        "a.json:2: nests deeper than 100 levels (byte 106)");
  CHECK(fault(nested(10'000'000)) == "a.json:1: nests deeper than 100 levels (byte 101)");
  std::string row;
  for (int i = 0; i < 1000; ++i) row += "[{\"a\": []}], ";
  CHECK(fault("[" + row + "0]") == "none");
}

TEST_CASE("a key that an object has twice is refused; other objects may have it too") {
  CHECK(fault(R"({"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}, "a", "a"]})") == "none");
  CHECK(fault(R"({"a": "a", "x": "a:", "y": "\"a\": {"})") == "none");
  CHECK(fault("{\"a\": 1,\n\"b\": [{\"c\": 1}, 2], \"a\" : 2}") == "a.json:2: a: the key appears twice");
  CHECK(fault(R"([{"b": {"a": 1, "a": 1}}])") == "a.json:1: a: the key appears twice");
}

TEST_CASE("brackets inside text count for nothing") {
  const std::string text(1000, '[');
  CHECK(core::parse_json<Json>("[\"\\\"" + text + "\\\\\", \"{{\"]", "a.json")[0] == "\"" + text + "\\");
  CHECK(fault("[\"" + text) != "none");  // never closed
}

TEST_CASE("a text that is no JSON is refused with its line and the parser's reason") {
  CHECK(fault("[1,\n 2,\n") ==
        "a.json:3: not valid JSON: unexpected end of input; expected '[', '{', or a literal");
  CHECK(fault("[1e999]") == "a.json: not valid JSON: a number is too large");
  CHECK(fault("").starts_with("a.json:1: not valid JSON"));
  CHECK(core::parse_json<nlohmann::ordered_json>("{\"b\": 1, \"a\": 2}", "").dump() == "{\"b\":1,\"a\":2}");
}
