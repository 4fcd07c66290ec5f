// Every test is built.

#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "penstock/core/files.hpp"
#include "support/checkout.hpp"

using namespace penstock;
namespace fs = std::filesystem;

TEST_CASE("every file of tests is in tests/meson.build, under its room") {
  const std::string text = core::read_file(support::checkout("/tests/meson.build"));
  std::size_t seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(support::checkout("/tests"))) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with("_test.cpp")) continue;
    ++seen;
    const std::string room = entry.path().parent_path().filename().string(),
                      stem = name.substr(0, name.size() - std::string("_test.cpp").size());
    const bool listed = std::regex_search(text, std::regex("'" + room + "': \\[[^\\]]*'" + stem + "'"));
    const bool named = text.find("'" + room + "/" + name + "'") != std::string::npos;
    CHECK_MESSAGE((listed || named), room, "/", name, " is not built");
  }
  CHECK(seen > 200);
}
