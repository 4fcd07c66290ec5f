// No room has a multiple of sixteen sources: Meson 1.x then names one object of the installed library too many.

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "penstock/core/files.hpp"
#include "support/checkout.hpp"

namespace {

/// Sources of each static library that is compiled in units of sixteen (`together` in meson.build).
std::vector<std::ptrdiff_t> together(const std::string& build) {
  static const std::regex library(R"(static_library\(([^)]*)\))"), source(R"('[^']*\.cpp')");
  std::vector<std::ptrdiff_t> out;
  for (std::sregex_iterator each(build.begin(), build.end(), library), end; each != end; ++each) {
    const std::string call = (*each)[1];
    if (call.find("override_options: together") == call.npos) continue;
    out.push_back(std::distance(std::sregex_iterator(call.begin(), call.end(), source), {}));
  }
  return out;
}

}  // namespace

TEST_CASE("each room compiles to as many units as the installed library links") {
  const std::filesystem::path checkout = penstock::support::checkout();
  std::size_t rooms = 0;
  for (const auto& entry : std::filesystem::directory_iterator(checkout / "src")) {
    const auto build = entry.path() / "meson.build";
    if (!std::filesystem::exists(build)) continue;
    for (const std::ptrdiff_t sources : together(penstock::core::read_file(build.string()))) {
      ++rooms;
      CHECK_MESSAGE(sources % 16 != 0, build.string(), " has ", sources, " sources in one library: divide a file");
    }
  }
  CHECK(rooms > 15);
}

TEST_CASE("sources of each library are counted by themselves") {
  CHECK(together("a = static_library('a', 'b.cpp', 'c/d.cpp',\n  override_options: together)\n"
                 "e = static_library('e', 'f.cpp')") == std::vector<std::ptrdiff_t>{2});
}
