#pragma once
// Reading files whole, and writing results so that a reader never sees half a file.

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock::core {

/// An open file; closed with its owner.
struct Descriptor {
  Descriptor() = default;
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value = -1;
};

/// A file that goes with its owner, unless its name was taken away.
struct Temporary {
  Temporary() = default;
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  std::string path;
};

/// A file written piece by piece, under a temporary name in the same folder until `commit` has brought it to
/// the disk (fsync) and renamed it. The temporary name cannot be guessed and never leads through a link.
/// Creates missing folders; a file that is replaced hands on its mode. A link stays one, and the file it
/// leads to is written; a device or pipe takes the pieces as they come. Every member throws BadInput when the
/// path cannot be written, with the system's reason; without `commit` no file is left behind.
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
  std::string path_, target_;               ///< as given, behind links
  Temporary temporary_;                     ///< until committed; of a device none
  Descriptor file_;
  std::string waiting_;  ///< not yet handed to the system
};

/// Writes the whole content at once, as FileWriter does.
void write_file(const std::string& path, std::string_view content);

/// What a FileWriter left that was killed: the file has such a name, and nobody writes it any more.
bool is_left_behind(const std::string& path);

/// A folder for its owner alone, beside `path`, under a name that cannot be guessed; goes with all in it.
class TemporaryFolder {
 public:
  /// Creates missing folders above it; throws BadInput when it cannot be made.
  explicit TemporaryFolder(const std::string& beside);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The most that read_file takes: less than would exhaust a machine, more than any table here.
inline constexpr std::size_t kLargestFile = std::size_t{512} << 20;

/// The whole file as text, or all that a pipe brings; throws BadInput when it cannot be read, with the
/// system's reason, when nobody writes to the pipe, and when it is longer than `most` bytes.
std::string read_file(const std::string& path, std::size_t most = kLargestFile);

}  // namespace penstock::core
