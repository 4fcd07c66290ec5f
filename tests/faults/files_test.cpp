// Every file call fails once, each in its turn, in the way of SQLite's I/O error tests
// (https://www.sqlite.org/testing.html). The work is then done or reported as not done, and what was there
// before is still there.

#include "penstock/core/files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "file_calls.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/file_lock.hpp"
#include "penstock/core/yaml.hpp"
#include "support/scratch.hpp"

using namespace penstock;
using faults::CallMishap;
namespace fs = std::filesystem;

namespace {

std::ptrdiff_t open_files() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), {});
}

/// Why `work` failed with BadInput; empty when it did not.
std::string fault_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

/// Runs `work` with its first, second, ... file call failing in that way until it needs no more calls, and
/// `check` after each, with its message. Returns how many calls it takes.
std::int64_t with_each_call_failing(int error, const std::function<void()>& work,
                                    const std::function<void(const std::string& fault)>& check) {
  for (std::int64_t n = 1;; ++n) {
    CAPTURE(n);
    const auto before = open_files();
    std::string fault;
    std::int64_t asked = 0;
    {
      const faults::FileTrouble trouble(CallMishap::fails, n, error);
      fault = fault_of(work);
      asked = trouble.asked();
    }
    CHECK(open_files() == before);
    if (asked < n) return asked;
    check(fault);
    REQUIRE(n < 1000);
  }
}

std::size_t files_in(const fs::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) count += entry.is_regular_file();
  return count;
}

const std::string kOld(70'000, 'o'), kNew(200'000, 'n');

}  // namespace

TEST_CASE("a write that fails leaves the old file or the new one, whole, and nothing else") {
  for (const int error : {EIO, ENOSPC, EACCES, EDQUOT}) {
    CAPTURE(error);
    const support::ScratchFolder scratch("file_faults");
    const std::string path = scratch.path("a/b/c.txt"), reason = std::generic_category().message(error);
    const auto calls = with_each_call_failing(
        error, [&] { core::write_file(path, kNew); },
        [&](const std::string& fault) {
          if (!fault.empty()) CHECK(fault == "cannot write file '" + path + "': " + reason);
          const bool there = fs::exists(path);
          CHECK((there || !fault.empty()));
          if (there) CHECK(core::read_file(path) == kNew);
          CHECK(files_in(scratch.path("")) == (there ? 1 : 0));
          fs::remove_all(scratch.path("a"));
        });
    CHECK(calls >= 8);  // mkdir twice, open, lock, write, fsync, close, rename, and the folder's
  }
}

TEST_CASE("the file that was there is there, with its mode, until the new one is complete") {
  const support::ScratchFolder scratch("file_faults");
  const std::string path = scratch.path("c.txt"), link = scratch.path("link");
  fs::create_symlink(path, link);
  for (const std::string& name : {path, link}) {
    int kept = 0, replaced = 0;
    const auto reset = [&] { core::write_file(path, kOld), chmod(path.c_str(), 0640); };
    reset();
    with_each_call_failing(
        EIO, [&] { core::write_file(name, kNew); },
        [&](const std::string& fault) {
          const std::string now = core::read_file(path);
          CHECK((now == kNew || (now == kOld && !fault.empty())));
          ++(now == kOld ? kept : replaced);
          CHECK(files_in(scratch.path("")) == 2);  // one of them by the link
          CHECK(fs::is_symlink(link));
          CHECK((fs::status(path).permissions() & fs::perms::mask) == fs::perms(0640));
          reset();
        });
    CHECK(kept >= 6);      // until the renaming
    CHECK(replaced >= 1);  // the folder's own fsync, which comes after it
  }
}

TEST_CASE("calls that a signal interrupts, and that do one byte at a time, are called again") {
  const support::ScratchFolder scratch("file_faults");
  const std::string path = scratch.path("a.txt"), text(300, 't');
  for (const CallMishap mishap : {CallMishap::interrupts, CallMishap::shortens})
    for (std::int64_t n = 1; n <= 12; ++n) {
      CAPTURE(n);
      const faults::FileTrouble trouble(mishap, n);
      core::write_file(path, text);
      CHECK(core::read_file(path) == text);
    }
}

TEST_CASE("a file that cannot be read to its end is not read") {
  const support::ScratchFolder scratch("file_faults");
  const std::string path = scratch.path("a.yaml");
  core::write_file(path, "a: 1\n");
  std::string text;
  const auto calls = with_each_call_failing(
      EIO, [&] { text = core::read_file(path); },
      [&](const std::string& fault) {
        if (fault.empty())
          CHECK(text == "a: 1\n");  // what fails is the closing
        else
          CHECK(fault == "cannot read file '" + path + "': Input/output error");
        text.clear();
      });
  CHECK(calls >= 4);  // open, read, read the end, close
  with_each_call_failing(
      EIO, [&] { core::Yaml::load(path); },
      [&](const std::string& fault) { CHECK((fault.empty() || fault.find("a.yaml") != fault.npos)); });
}

TEST_CASE("a lock that fails is not held, and one that is held is let go of") {
  const support::ScratchFolder scratch("file_faults");
  const std::string path = scratch.path("deep/lock");
  bool held = false;
  with_each_call_failing(
      EIO, [&] { held = core::FileLock::take(path).has_value(); },
      [&](const std::string& fault) {
        CHECK(held == fault.empty());
        held = false;
        CHECK(core::FileLock::take(path));
        fs::remove_all(scratch.path("deep"));
      });
}

TEST_CASE("a full device is reported") {
  with_each_call_failing(
      ENOSPC, [&] { core::write_file("/dev/zero", kNew); },
      [&](const std::string& fault) {
        CHECK(fault == "cannot write file '/dev/zero': No space left on device");
      });
}
