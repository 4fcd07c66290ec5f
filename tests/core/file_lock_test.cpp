#include "penstock/core/file_lock.hpp"

#include <doctest/doctest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "support/scratch.hpp"

using namespace penstock;
using core::FileLock;

namespace {

/// Action of another process between the opening of a lock's file and its locking.
std::function<void()> meanwhile;

}  // namespace

/// In place of the C library's.
extern "C" int flock(int descriptor, int operation) noexcept {
  if (const auto act = std::exchange(meanwhile, nullptr)) act();
  return static_cast<int>(syscall(SYS_flock, descriptor, operation));
}

TEST_CASE("one holder at a time, until it lets go") {
  const support::ScratchFolder scratch("file_lock_test");
  const std::string path = scratch.path("deep/lock");
  {
    const auto first = FileLock::take(path);
    CHECK(first);
    CHECK_FALSE(FileLock::take(path));
    CHECK(FileLock::take(path + "2"));
  }
  CHECK(FileLock::take(path));
  core::write_file(scratch.path("file"), "");
  CHECK_THROWS_AS(FileLock::take(scratch.path("file/lock")), core::BadInput);
}

TEST_CASE("a process that dies lets go") {
  const support::ScratchFolder scratch("file_lock_test");
  const std::string path = scratch.path("lock");
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto held = FileLock::take(path);
    const char sign = held ? 'y' : 'n';
    if (write(ready[1], &sign, 1) == 1) pause();
    _exit(1);
  }
  char sign = 0;
  REQUIRE(read(ready[0], &sign, 1) == 1);
  CHECK(sign == 'y');
  CHECK_FALSE(FileLock::take(path));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(FileLock::take(path));
  close(ready[0]), close(ready[1]);
}

TEST_CASE("a lock is none where its file was renamed or removed meanwhile") {
  const support::ScratchFolder scratch("file_lock_test");
  const std::string path = scratch.path("lock");
  meanwhile = [&] { std::filesystem::rename(path, path + ".old"); };
  CHECK_FALSE(FileLock::take(path));
  meanwhile = [&] { std::filesystem::remove(path); };
  CHECK_FALSE(FileLock::take(path));
  meanwhile = [&] {
    std::filesystem::remove(path);
    core::write_file(path, "another one's");
  };
  CHECK_FALSE(FileLock::take(path));
  CHECK(FileLock::take(path));
}
