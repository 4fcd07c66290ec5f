#include "penstock/core/file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock::core {
namespace {

/// True if `path` still names the open file, so its last holder has neither renamed nor removed it.
bool is_at(int descriptor, const std::string& path) {
  struct stat open_file {
  }, named{};
  return fstat(descriptor, &open_file) == 0 && stat(path.c_str(), &named) == 0 &&
         open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

[[noreturn]] void refuse(const char* what, const std::string& path, int fault) {
  throw BadInput(fmt::format("cannot {} file '{}': {}", what, path, std::generic_category().message(fault)));
}

}  // namespace

std::optional<FileLock> FileLock::take(const std::string& path) {
  std::error_code fault;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), fault);
  if (fault) refuse("write", path, fault.value());  // otherwise the error would be that of the missing folder
  constexpr int kReadWrite = 0666;                  // before the umask
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kReadWrite);
  if (descriptor < 0) refuse("write", path, errno);
  const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  const int why = locked ? 0 : errno;
  if (locked && is_at(descriptor, path)) return FileLock(descriptor);
  close(descriptor);
  if (!locked && why != EWOULDBLOCK) refuse("lock", path, why);
  return std::nullopt;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace penstock::core
