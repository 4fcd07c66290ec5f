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

/// A static library that is compiled in units of sixteen (`together` in meson.build).
struct JoinedLibrary {
  std::string name;  ///< variable of the build file
  std::ptrdiff_t sources;
  friend bool operator==(const JoinedLibrary&, const JoinedLibrary&) = default;
};

std::vector<JoinedLibrary> joined_libraries(const std::string& build) {
  static const std::regex library(R"((\w+) = static_library\(([^)]*)\))"), source(R"('[^']*\.cpp')");
  std::vector<JoinedLibrary> out;
  for (std::sregex_iterator each(build.begin(), build.end(), library), end; each != end; ++each) {
    const std::string call = (*each)[2];
    if (call.find("override_options: together") == call.npos) continue;
    out.push_back({(*each)[1], std::distance(std::sregex_iterator(call.begin(), call.end(), source), {})});
  }
  return out;
}

}  // namespace

TEST_CASE("each room compiles to as many units as the installed library links") {
  const std::filesystem::path checkout = penstock::support::checkout();
  const std::string installed = penstock::core::read_file((checkout / "include/meson.build").string());
  std::size_t rooms = 0;
  for (const auto& entry : std::filesystem::directory_iterator(checkout / "src")) {
    const std::string build = (entry.path() / "meson.build").string();
    if (!std::filesystem::exists(build)) continue;
    for (const JoinedLibrary& each : joined_libraries(penstock::core::read_file(build))) {
      if (installed.find(each.name) == installed.npos) continue;
      ++rooms;
      CHECK_MESSAGE(each.sources % 16 != 0, build, " has ", each.sources, " sources: divide a file");
    }
  }
  CHECK(rooms > 15);
}

TEST_CASE("sources of each library are counted by themselves") {
  CHECK(joined_libraries("a_lib = static_library('a', 'b.cpp', 'c/d.cpp',\n  override_options: together)\n"
                         "e_lib = static_library('e', 'f.cpp')") == std::vector<JoinedLibrary>{{"a_lib", 2}});
}
