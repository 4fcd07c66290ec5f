#include "penstock/core/files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "penstock/core/error.hpp"
#include "support/scratch.hpp"

using namespace penstock;
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
  CHECK_THROWS_AS(read_file((folder / "deep").string()), BadInput);
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  fs::remove_all(folder);
}

TEST_CASE("a file written in pieces appears when it is committed, not before") {
  const support::Scratch scratch("files_test");
  const std::string path = scratch.path("a.txt");
  const auto files = [&] { return std::distance(fs::directory_iterator(fs::path(path).parent_path()), {}); };
  {
    FileWriter given_up(path);
    given_up.write("half of it");
    CHECK(!fs::exists(path));
  }
  CHECK(files() == 0);  // nor does the temporary file stay
  FileWriter file(path);
  file.write("one ");
  file.write("two");
  CHECK(!fs::exists(path));
  file.commit();
  CHECK(read_file(path) == "one two");
  CHECK(files() == 1);
  CHECK_THROWS_AS(FileWriter(path + "/below_a_file"), BadInput);
}

TEST_CASE("a link stays a link: the file it leads to is written; a dangling one gives way to the file") {
  const support::Scratch scratch("files_test");
  const std::string file = scratch.path("a.txt"), link = scratch.path("link"), lost = scratch.path("lost");
  write_file(file, "old");
  fs::create_symlink(file, link);
  write_file(link, "new");
  CHECK(fs::is_symlink(link));
  CHECK(read_file(file) == "new");
  fs::create_symlink(scratch.path("nowhere"), lost);
  write_file(lost, "text");
  CHECK(read_file(lost) == "text");
}

TEST_CASE("a pipe is written to, and stays a pipe") {
  const support::Scratch scratch("files_test");
  const std::string pipe = scratch.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK);  // nobody waits for anybody
  write_file(pipe, "text");
  char read_back[8] = {};
  CHECK(read(reader, read_back, sizeof read_back) == 4);
  CHECK(std::string(read_back) == "text");
  CHECK(fs::is_fifo(pipe));
  close(reader);
}
