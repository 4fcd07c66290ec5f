// Numbers are compared up to a relative difference, everywhere.

#include "support/near.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "penstock/core/files.hpp"
#include "support/checkout.hpp"

namespace {

namespace fs = std::filesystem;
using penstock::support::near;

/// Lines that compare by doctest's Approx; written "file:line".
std::vector<std::string> lines_with_approx(const std::string& file, const std::string& text) {
  static const std::regex name(R"(\bApprox\b)");
  std::vector<std::string> found;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);)
    if (++number; std::regex_search(line, name)) found.push_back(file + ":" + std::to_string(number));
  return found;
}

}  // namespace

TEST_CASE("a small number is not near zero, nor near one that is a little larger") {
  CHECK_FALSE(0 == near(3e-6));
  CHECK_FALSE(3e-6 == near(0));
  CHECK_FALSE(3.1e-6 == near(3e-6));
  CHECK_FALSE(-3e-6 == near(3e-6));
  CHECK_FALSE(std::nan("") == near(3e-6));
  CHECK_FALSE(1e300 == near(HUGE_VAL));
  CHECK(0 == near(0));
  CHECK(HUGE_VAL == near(HUGE_VAL));
  CHECK(3e-6 * (1 + 1e-10) == near(3e-6));
  CHECK(3.1e-6 == near(3e-6, 0.04));
}

TEST_CASE("no test compares with an absolute slack that its numbers may lie below") {
  CHECK(lines_with_approx("t.cpp", "int a;\nCHECK(a == doctest::Approx(3e-6));\n") ==
        std::vector<std::string>{"t.cpp:2"});
  const std::string tests = penstock::support::checkout("/tests");
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(tests)) {
    const std::string kind = entry.path().extension().string();
    const std::string name = fs::relative(entry.path(), tests).generic_string();
    if ((kind != ".cpp" && kind != ".hpp") || name == "house/near_test.cpp") continue;
    ++files;
    for (const auto& line : lines_with_approx(name, penstock::core::read_file(entry.path().string())))
      FAIL_CHECK("compare with support::near instead: tests/" << line);
  }
  CHECK(files > 100);
}
