#pragma once
// Writing results so that a reader never sees half a file.

#include <fstream>
#include <string>
#include <string_view>

namespace penstock::core {

/// A file written piece by piece, under a temporary name in the same folder until `commit` renames it.
/// Creates missing folders. A link stays one, and the file it leads to is written; a device or pipe takes the
/// pieces as they come. Every member throws BadInput when the path cannot be written; without `commit` no
/// file is left behind.
class FileWriter {
 public:
  explicit FileWriter(std::string path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::string_view piece);
  void commit();

 private:
  [[noreturn]] void fail() const;
  std::string path_, target_, temporary_;  ///< as given, behind links, until committed (of a device none)
  std::ofstream out_;
};

/// Writes the whole content at once, as FileWriter does.
void write_file(const std::string& path, std::string_view content);

/// The whole file as text; throws BadInput when it cannot be read.
std::string read_file(const std::string& path);

}  // namespace penstock::core
