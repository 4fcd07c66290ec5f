#include "penstock/core/files.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "penstock/core/error.hpp"

using namespace penstock::core;
namespace fs = std::filesystem;

TEST_CASE("a file appears whole, and a failed write leaves nothing behind") {
  const fs::path folder = fs::temp_directory_path() / "penstock_files_test";
  fs::remove_all(folder);
  write_file((folder / "deep/a.txt").string(), "one");
  write_file((folder / "deep/a.txt").string(), "two");
  CHECK(read_file((folder / "deep/a.txt").string()) == "two");
  CHECK(std::distance(fs::directory_iterator(folder / "deep"), {}) == 1);
  // The target is a folder: the rename fails, and the temporary file goes.
  CHECK_THROWS_AS(write_file((folder / "deep").string(), "x"), BadInput);
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  fs::remove_all(folder);
}
