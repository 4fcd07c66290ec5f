// No fortified or renamed calls: their names are defined here.
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "file_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <limits>

namespace {

using penstock::faults::CallMishap;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// The only globals: the program has one of each call.
std::atomic<std::int64_t> calls{0}, first{kNever};
std::atomic<CallMishap> mishap{CallMishap::fails};
std::atomic<int> error{0};
std::atomic<bool> for_good{false};

bool meets(CallMishap kind, std::int64_t number) {
  const std::int64_t from = first;
  return mishap == kind && (number == from || (for_good && number > from));
}

/// True if this call fails, with errno set.
bool fails(bool can_be_interrupted) {
  const std::int64_t number = ++calls;
  const bool interrupted = can_be_interrupted && meets(CallMishap::interrupts, number);
  if (!interrupted && !meets(CallMishap::fails, number)) return false;
  errno = interrupted ? EINTR : error.load();
  return true;
}

std::size_t shortened(std::size_t bytes) {
  return bytes > 1 && meets(CallMishap::shortens, calls) ? 1 : bytes;
}

int open_file(const char* path, int flags, mode_t mode) {
  return fails(true) ? -1 : static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

}  // namespace

namespace penstock::faults {

FileTrouble::FileTrouble(CallMishap what, std::int64_t at, int code, bool always) {
  calls = 0;
  mishap = what;
  error = code;
  for_good = always || what == CallMishap::shortens;
  first = at;
}
FileTrouble::~FileTrouble() {
  first = kNever;
  for_good = false;
}
std::int64_t FileTrouble::asked() const {
  return calls;
}

}  // namespace penstock::faults

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_file(path, flags, mode);
}
ssize_t read(int file, void* to, size_t bytes) {
  return fails(true) ? -1 : syscall(SYS_read, file, to, shortened(bytes));
}
ssize_t write(int file, const void* from, size_t bytes) {
  return fails(true) ? -1 : syscall(SYS_write, file, from, shortened(bytes));
}
int fsync(int file) {
  return fails(false) ? -1 : static_cast<int>(syscall(SYS_fsync, file));
}
int close(int file) {
  const bool failed = fails(false);
  const int code = errno;
  const int result = static_cast<int>(syscall(SYS_close, file));
  if (failed) errno = code;
  return failed ? -1 : result;
}
int rename(const char* from, const char* to) noexcept {
  return fails(false) ? -1 : static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return fails(false) ? -1 : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int fchmod(int file, mode_t mode) noexcept {
  return fails(false) ? -1 : static_cast<int>(syscall(SYS_fchmod, file, mode));
}
int flock(int file, int how) noexcept {
  return fails(false) ? -1 : static_cast<int>(syscall(SYS_flock, file, how));
}
}
