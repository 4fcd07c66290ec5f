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
        "f.yaml:2: memory: expected a size with its unit, such as 16GiB, found '16'");
  CHECK(fault_of("nodes:\n  - gpus: x\n", [](const Yaml& y) {
          y.at("nodes").items()[0].at("gpus").integer(1, 8);
        }) == "f.yaml:2: nodes[0].gpus: expected a whole number from 1 to 8, found 'x'");
  CHECK(fault_of("a: 1\nmemroy: 2\n", [](const Yaml& y) {
          y.only({"a", "memory"});
        }) == "f.yaml:2: memroy: unknown key; did you mean 'memory'?");
  CHECK(fault_of("a: 1\na: 2\n", [](const Yaml& y) { y.only({"a"}); }) ==
        "f.yaml:2: a: the key stands twice");
  CHECK(fault_of("a: 1\n", [](const Yaml& y) { y.at("b"); }) == "f.yaml:1: the key 'b' is missing");
  CHECK(fault_of("a: [1, 2\n", [](const Yaml&) {}).starts_with("f.yaml:2: not valid YAML"));
  CHECK(fault_of("a: .inf\n", [](const Yaml& y) { y.at("a").number(); }).find("expected a number") !=
        std::string::npos);
}

TEST_CASE("quoted text reads back as it was") {
  CHECK(quoted("a \"b\" \\ c") == R"("a \"b\" \\ c")");
  std::string every;
  for (int c = 1; c < 0x80; ++c) every += static_cast<char>(c);
  for (const std::string& text : {std::string("null"), std::string("# {a: b}, é\n"), every})
    CHECK(Yaml::parse("key: " + quoted(text) + "\n", "q.yaml").at("key").text() == text);
}

TEST_CASE("a missing file is bad input") {
  CHECK_THROWS_AS(Yaml::load("no/such/file.yaml"), BadInput);
}
