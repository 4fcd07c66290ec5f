#include "penstock/core/yaml.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace penstock::core;

namespace {

std::string fault_of(const std::string& text, void (*read)(const Yaml&)) {
  try {
    read(Yaml::parse(text, "f.yaml"));
  } catch (const BadInput& e) {
    return e.what();
  }
  return "no fault";
}

}  // namespace

TEST_CASE("every fault names file, line, key and what was expected") {
  CHECK(fault_of("a: 1\nmemory: 16\n", [](const Yaml& y) { y.at("memory").bytes(); }) ==
        "f.yaml:2: memory: expected a size with its unit, such as 16GiB, to 2^60 B, found '16'");
  CHECK(fault_of("nodes:\n  - gpus: x\n", [](const Yaml& y) {
          y.at("nodes").items()[0].at("gpus").integer(1, 8);
        }) == "f.yaml:2: nodes[0].gpus: expected a whole number from 1 to 8, found 'x'");
  CHECK(fault_of("a: 1\nmemroy: 2\n", [](const Yaml& y) {
          y.only({"a", "memory"});
        }) == "f.yaml:2: memroy: unknown key; did you mean 'memory'?");
  CHECK(fault_of("a: 1\na: 2\n", [](const Yaml& y) { y.only({"a"}); }) ==
        "f.yaml:2: a: the key appears twice");
  CHECK(fault_of("a: 1\n", [](const Yaml& y) { y.at("b"); }) == "f.yaml:1: the key 'b' is missing");
  CHECK(fault_of("a: [1, 2\n", [](const Yaml&) {}).starts_with("f.yaml:2: not valid YAML"));
  CHECK(fault_of("a: .inf\n", [](const Yaml& y) { y.at("a").number(); }).find("expected a number") !=
        std::string::npos);
}

TEST_CASE("other bytes than UTF-8 are refused with their line") {
  CHECK(fault_of("a: 1\nb: NVIDIA \xAD\n", [](const Yaml&) {}) == "f.yaml:2: the line is not UTF-8 text");
  CHECK(fault_of("a: 1\nb: N\xC3\xBC\n", [](const Yaml&) {}) == "no fault");
}

TEST_CASE("a number in quotes is a text, and no number") {
  const auto whole = [](const Yaml& y) { (void)y.at("a").integer(0, 9999); };
  CHECK(fault_of("a: 1024\n", whole) == "no fault");
  CHECK(fault_of("{\"a\": 1024}", whole) == "no fault");
  CHECK(fault_of("{\"a\": \"1024\"}", whole) ==
        "f.yaml:1: a: expected a whole number, found the text \"1024\": leave out its quotes");
  CHECK(fault_of("a: '1.5'\n", [](const Yaml& y) { (void)y.at("a").number(); }).find("expected a number") !=
        std::string::npos);
  CHECK(fault_of("a: 'true'\n", [](const Yaml& y) {
          (void)y.at("a").flag();
        }).find("expected true or false") != std::string::npos);
  CHECK(fault_of("a: '3us'\n", [](const Yaml& y) { (void)y.at("a").seconds(); }) == "no fault");
}

TEST_CASE("a file holds one document, and nothing behind it") {
  const auto nothing = [](const Yaml&) {};
  for (const char* whole : {"{\"a\": 1}\n\n# end\n", "a: 1\n...\n", "---\na: 1\n", "", "a: |\n  ---\n  x\n"})
    CHECK(fault_of(whole, nothing) == "no fault");
  for (const char* more : {"{\"a\": 1} x", "{\"a\": 1}\n{\"b\": 2}", "a: 1\n---\nb: 2\n", "{\"a\": 1},",
                           "[1] 2", "a: 1\n...\nx\n"}) {
    CAPTURE(more);
    CHECK(fault_of(more, nothing).find("text comes after the end of the document") != std::string::npos);
  }
  CHECK(fault_of("{\"a\": 1}\n{\"b\": 2}", nothing).starts_with("f.yaml:2: "));
}

TEST_CASE("quoted text reads back as it was") {
  CHECK(quoted("a \"b\" \\ c") == R"("a \"b\" \\ c")");
  std::string every;
  for (int c = 1; c < 0x80; ++c) every += static_cast<char>(c);
  for (const std::string& text : {std::string("null"), std::string("# {a: b}, é\n"), every})
    CHECK(Yaml::parse("key: " + penstock::core::quoted(text) + "\n", "q.yaml").at("key").text() == text);
}

TEST_CASE("a missing file is bad input") {
  CHECK_THROWS_AS(Yaml::load("no/such/file.yaml"), BadInput);
}

TEST_CASE("whole numbers are taken up to both bounds") {
  const Yaml root = Yaml::parse("[0, 1, 8, 9, 1.0]\n", "n.yaml");
  const auto items = root.items();
  CHECK(items[1].integer(1, 8) == 1);
  CHECK(items[2].integer(1, 8) == 8);
  for (const std::size_t i : {0, 3, 4}) CHECK_THROWS_AS(items[i].integer(1, 8), BadInput);
}

TEST_CASE("a value that is set has at most a hundred levels and ten thousand parts") {
  const auto set = [](const std::string& value) {
    Yaml root = Yaml::parse("a: 0\n", "s.yaml");
    root.set("a", value);
    return root.at("a");
  };
  const auto nested = [](std::size_t lists) {
    return std::string(lists, '[') + "x" + std::string(lists, ']');
  };
  CHECK(set(nested(99)).is_list());
  CHECK_THROWS_AS(set(nested(100)), BadInput);
  const auto row = [](int items) {
    std::string out = "[&x [y]";  // two parts
    for (int i = 1; i < items; ++i) out += ", *x";
    return out + "]";
  };
  CHECK(set("[" + row(4999) + "]").items()[0].items().size() == 4999);  // 2 + 4,999 * 2 parts
  CHECK_THROWS_AS(set("[" + row(5000) + "]"), BadInput);
  CHECK_THROWS_AS(set("[0, " + row(4999) + "]"), BadInput);
}
