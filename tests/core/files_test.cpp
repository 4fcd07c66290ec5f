#include "penstock/core/files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

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
  const support::ScratchFolder scratch("files_test");
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
  const support::ScratchFolder scratch("files_test");
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
  const support::ScratchFolder scratch("files_test");
  const std::string pipe = scratch.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK);  // no side waits for the other
  write_file(pipe, "text");
  char read_back[8] = {};
  CHECK(read(reader, read_back, sizeof read_back) == 4);
  CHECK(std::string(read_back) == "text");
  CHECK(fs::is_fifo(pipe));
  close(reader);
}

namespace {

mode_t mode_of(const std::string& path) {
  struct stat about {};
  REQUIRE(stat(path.c_str(), &about) == 0);
  return about.st_mode & 07777;
}

std::string why_unreadable(const std::string& path, std::size_t most) {
  try {
    read_file(path, most);
  } catch (const BadInput& e) {
    return e.what();
  }
  return "none";
}

/// The only file of a folder that is not one of `known`.
std::string other_file(const fs::path& folder, const std::string& known) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename() != known) return entry.path().string();
  return "";
}

}  // namespace

TEST_CASE("a file that is replaced hands on its mode; a new one has what the umask leaves") {
  const support::ScratchFolder scratch("files_test");
  const std::string path = scratch.path("a.txt");
  const mode_t before = umask(0027);
  write_file(path, "one");
  CHECK(mode_of(path) == 0640);
  for (const mode_t mode : {0600, 0444, 0666}) {  // the umask takes nothing of what somebody chose
    chmod(path.c_str(), mode);
    write_file(path, "two");
    CHECK(mode_of(path) == mode);
  }
  umask(before);
}

TEST_CASE("temporary names differ, are short, and give way to no link") {
  const support::ScratchFolder scratch("files_test");
  const std::string longest(255, 'n'), path = scratch.path(longest);
  const fs::path folder = fs::path(path).parent_path();
  std::string first;
  {
    FileWriter file(path);
    first = fs::path(other_file(folder, "")).filename().string();
    CHECK(first.starts_with(".penstock-" + std::to_string(getpid()) + "-"));
    CHECK(first.size() < 64);
    CHECK((fs::status(folder / first).permissions() & fs::perms::owner_write) != fs::perms::none);
    file.commit();
  }
  FileWriter again(path);
  CHECK(fs::path(other_file(folder, longest)).filename() != first);
}

TEST_CASE("files of a killed writer are distinguished from those of live writers and of other programs") {
  const support::ScratchFolder scratch("files_test");
  const fs::path folder = fs::path(scratch.path("x")).parent_path();
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    FileWriter file(scratch.path("a.txt"));
    if (write(ready[1], "y", 1) == 1) pause();
    _exit(1);
  }
  char sign = 0;
  REQUIRE(read(ready[0], &sign, 1) == 1);
  const std::string left = other_file(folder, "");
  CHECK_FALSE(is_left_behind(left));
  kill(child, SIGKILL);
  siginfo_t ended;
  REQUIRE(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(is_left_behind(left));  // it is dead, though its number is still taken
  waitpid(child, nullptr, 0);
  CHECK(is_left_behind(left));
  const std::string dead = std::to_string(child);
  const std::vector<std::string> strangers = {"a.csv." + dead + ".0.tmp",
                                              ".penstock-" + dead + "-0123.tmp",
                                              ".penstock-" + dead + "-0123456789abcdeX.tmp",
                                              ".penstock--0123456789abcdef.tmp",
                                              "notes.tmp",
                                              ".penstock-0-0123456789abcdef.tmp"};
  for (const std::string& name : strangers) {
    write_file(scratch.path(name), "a stranger's");
    CHECK_FALSE(is_left_behind(scratch.path(name)));
  }
  const std::string link = scratch.path(".penstock-" + dead + "-0123456789abcdef.tmp");
  fs::create_symlink(scratch.path("notes.tmp"), link);
  CHECK_FALSE(is_left_behind(link));
  close(ready[0]), close(ready[1]);
}

TEST_CASE("a folder of one's own goes with all in it") {
  const support::ScratchFolder scratch("files_test");
  std::string path;
  {
    const TemporaryFolder folder(scratch.path("deep/results"));
    path = folder.path();
    write_file(path + "/a.txt", "text");
    CHECK(fs::path(path).parent_path() == fs::path(scratch.path("deep")));
    CHECK(mode_of(path) == 0700);
  }
  CHECK_FALSE(fs::exists(path));
  write_file(path, "a file");
  CHECK_THROWS_AS(TemporaryFolder(path + "/x"), BadInput);
}

TEST_CASE("a file is read to its end, and refused when it has none") {
  const support::ScratchFolder scratch("files_test");
  const std::string path = scratch.path("a.txt"), text(200'000, 'x');
  constexpr std::size_t kMost = std::size_t{1} << 20;
  write_file(path, text);
  CHECK(read_file(path) == text);
  CHECK(read_file(path, text.size()) == text);
  CHECK(why_unreadable(path, text.size() - 1) == "cannot read file '" + path + "': it is larger than 0 MiB");
  CHECK(why_unreadable("/dev/zero", kMost) == "cannot read file '/dev/zero': it is larger than 1 MiB");
  CHECK(why_unreadable(scratch.path("none"), kMost).ends_with("none': No such file or directory"));
  write_file(scratch.path("empty"), "");
  CHECK(read_file(scratch.path("empty")).empty());
  CHECK_FALSE(read_file("/proc/self/status").empty());  // its size is reported as 0
  fs::resize_file(path, std::uintmax_t{100} << 30);     // a hole: no byte of it is on the disk
  CHECK(why_unreadable(path, kLargestFile).ends_with("it is larger than 512 MiB"));
  const std::string pipe = scratch.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int held = open(pipe.c_str(), O_RDWR);  // a pipe with a writer from the start
  std::thread writer([&] {
    write_file(pipe, text);
    close(held);
  });
  CHECK(read_file(pipe) == text);
  writer.join();
}

TEST_CASE("a pipe without a writer is refused, not waited for; a slow writer's is read to its end") {
  const support::ScratchFolder scratch("files_test");
  const std::string pipe = scratch.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(why_unreadable(pipe, kLargestFile) ==
        "cannot read file '" + pipe + "': it is a pipe that nobody writes to");
  const int out = open(pipe.c_str(), O_RDWR);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    CHECK(write(out, "slowly", 6) == 6);
    close(out);
  });
  CHECK(read_file(pipe) == "slowly");
  writer.join();
}

TEST_CASE("a failed write reports the reason") {
  const support::ScratchFolder scratch("files_test");
  write_file(scratch.path("file"), "");
  const auto fault = [](const std::string& path) -> std::string {
    try {
      write_file(path, "x");
    } catch (const BadInput& e) {
      return e.what();
    }
    return "none";
  };
  CHECK(fault(scratch.path("file/a")).ends_with("file/a': Not a directory"));
  CHECK(fault(scratch.path(std::string(256, 'n'))).ends_with("': File name too long"));
  if (fs::exists("/dev/full"))
    CHECK(fault("/dev/full") == "cannot write file '/dev/full': No space left on device");
}
