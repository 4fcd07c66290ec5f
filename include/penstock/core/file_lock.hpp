#pragma once
// A right that processes share out by a file, and that dies with its holder.

#include <optional>
#include <string>

namespace penstock::core {

/// Holds a file's exclusive lock (flock(2)) while it lives; the kernel lets go of it when the process ends,
/// however it ends. Advisory: it binds those who ask. On network file systems as far as they share locks
/// between machines (NFS does, through fcntl; Lustre where mounted with `flock`).
class FileLock {
 public:
  /// Creates the file and missing folders. Nothing while another holds it, be it of this process, or
  /// when its last holder renamed or removed the file just now; throws BadInput when the file cannot be made.
  static std::optional<FileLock> take(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace penstock::core
