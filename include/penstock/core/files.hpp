#pragma once
// Reading files whole, and writing results so that a reader never sees half a file.

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock::core {

/// An open file; closed by the destructor.
struct FileDescriptor {
  FileDescriptor() = default;
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int value = -1;
};

/// A file that the destructor deletes, unless `path` was cleared.
struct TemporaryFile {
  TemporaryFile() = default;
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path;
};

/// Writes a file piece by piece under a temporary name in the same folder. `commit` flushes it to disk
/// (fsync) and renames it. The temporary name is random and never follows a link. Creates missing folders. A
/// replaced file passes on its mode. If `path` is a link, the link stays and its target is written; a device
/// or pipe receives the pieces directly. Every member throws BadInput with the system's reason if the path
/// cannot be written. Without `commit`, no file is left behind.
class FileWriter {
 public:
  explicit FileWriter(std::string path);

  void write(std::string_view piece);
  void commit();

 private:
  void open_special();
  void open_temporary();
  void flush();
  [[noreturn]] void fail(int fault) const;  ///< `fault` as in errno
  std::string path_, target_;               ///< as given; behind links
  TemporaryFile temporary_;                 ///< until committed; unused for a device
  FileDescriptor file_;
  std::string waiting_;  ///< bytes not yet written
};

/// Writes the whole content at once, as FileWriter does.
void write_file(const std::string& path, std::string_view content);

/// Returns true for the temporary file of a FileWriter whose process was killed: its name has that form, and
/// no process writes it any more.
bool is_left_behind(const std::string& path);

/// A folder beside `path` that only its owner can read, with a random name; the destructor deletes it with
/// its content.
class TemporaryFolder {
 public:
  /// Creates missing parent folders; throws BadInput if the folder cannot be created.
  explicit TemporaryFolder(const std::string& beside);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Default size limit of read_file in bytes: below what would exhaust a machine, above any table here.
inline constexpr std::size_t kLargestFile = std::size_t{512} << 20;

/// Returns the whole file, or everything that a pipe delivers. Throws BadInput if the file cannot be read
/// (with the system's reason), if no process writes to the pipe, or if there are more than `most` bytes.
std::string read_file(const std::string& path, std::size_t most = kLargestFile);

}  // namespace penstock::core
