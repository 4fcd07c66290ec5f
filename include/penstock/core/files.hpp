#pragma once
// Writing results so that a reader never sees half a file.

#include <string>
#include <string_view>

namespace penstock::core {

/// Writes to a temporary name in the same folder, then renames. Creates missing folders.
/// Throws BadInput when the path cannot be written; then no file is left behind.
void write_file(const std::string& path, std::string_view content);

/// The whole file as text; throws BadInput when it cannot be read.
std::string read_file(const std::string& path);

}  // namespace penstock::core
