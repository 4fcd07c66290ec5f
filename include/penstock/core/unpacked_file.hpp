#pragma once
// Reads a file piece by piece, packed by gzip or not.

#include <cstddef>
#include <span>
#include <string>

struct gzFile_s;  // of zlib

namespace penstock::core {

/// A file whose first bytes decide whether it is unpacked. Memory does not grow with its size.
class UnpackedFile {
 public:
  /// Throws BadInput with the system's reason if the file cannot be opened.
  explicit UnpackedFile(std::string path);
  ~UnpackedFile();
  UnpackedFile(const UnpackedFile&) = delete;
  UnpackedFile& operator=(const UnpackedFile&) = delete;

  /// Fills `out` and returns the number of bytes; fewer than its size only at the end. Throws BadInput if the
  /// file cannot be read, or if a packed file is damaged or ends early.
  std::size_t read(std::span<char> out);

 private:
  std::string path_;
  gzFile_s* file_;
};

}  // namespace penstock::core
