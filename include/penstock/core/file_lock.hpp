#pragma once
// A lock between processes, held through a file and released when its holder ends.

#include <optional>
#include <string>

namespace penstock::core {

/// Holds the exclusive lock of a file (flock(2)) during its lifetime. The kernel releases the lock when the
/// process ends, however it ends. The lock is advisory: it binds only processes that take it. Network file
/// systems share locks between machines only if configured to (NFS does, through fcntl; Lustre if mounted
/// with `flock`).
class FileLock {
 public:
  /// Creates the file and missing folders. Returns nothing while another holder has the lock, including one
  /// in this process, or if the last holder renamed or removed the file just now. Throws BadInput if the file
  /// cannot be created.
  static std::optional<FileLock> take(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace penstock::core
