// Nothing in the repository speaks of one person's machine.

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "penstock/core/files.hpp"
#include "support/checkout.hpp"

namespace {

const std::string kSource = penstock::support::checkout();

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string out;
  std::array<char, 4096> block;
  while (const std::size_t got = pipe ? std::fread(block.data(), 1, block.size(), pipe.get()) : 0)
    out.append(block.data(), got);
  return out;
}

/// Empty outside a git checkout.
std::vector<std::string> tracked_files() {
  std::istringstream out(output_of("git -C '" + kSource + "' ls-files -z 2>/dev/null"));
  std::vector<std::string> files;
  for (std::string name; std::getline(out, name, '\0');) files.push_back(name);
  return files;
}

/// Lines that hold an absolute path below somebody's home, work or temporary folder; written "file:line:
/// text".
std::vector<std::string> machine_paths(const std::string& file, const std::string& text) {
  static const std::regex absolute(R"((^|[^A-Za-z0-9_.}/-])/(home|Users|root|tmp|work)(/|\b))");
  std::vector<std::string> found;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    // A line of a picture or a table may be megabytes long; std::regex recurses on each character.
    for (std::size_t from = 0; from < line.size(); from += 4000) {
      const std::string part = line.substr(from, 4100);
      if (!std::regex_search(part, absolute)) continue;
      found.push_back(file + ":" + std::to_string(number) + ": " + part.substr(0, 100));
      break;
    }
  }
  return found;
}

}  // namespace

TEST_CASE("no tracked file names a folder of somebody's machine") {
  const auto files = tracked_files();
  if (files.empty()) {
    MESSAGE("not a git checkout: nothing to look at");
    return;
  }
  for (const auto& file : files) {
    const std::string path = kSource + "/" + file;
    if (file == "tests/house/machine_paths_test.cpp" || !std::filesystem::is_regular_file(path)) continue;
    for (const auto& found : machine_paths(file, penstock::core::read_file(path))) FAIL_CHECK(found);
  }
}

TEST_CASE("an absolute path of a machine is found at any place in a line") {
  CHECK(machine_paths("a.md", "fine\nrun \"/home/ann/penstock/tools/run\"\n") ==
        std::vector<std::string>{"a.md:2: run \"/home/ann/penstock/tools/run\""});
  CHECK(machine_paths("a.md", "/Users/x").size() == 1);
  CHECK(machine_paths("a.yaml", "-o /tmp/x").size() == 1);
  CHECK(machine_paths("a.md", std::string(5000, 'x') + " /root/x").size() == 1);
  CHECK(machine_paths("a.md", "docs/home/x, $HOME/x, src/root/y, /usr/bin, /rooted").empty());
}
