#pragma once
// Paths written in a file: their meaning does not depend on the working folder.

#include <string>

namespace penstock::core {

/// Returns true if the name ends in .yaml, .yml, .json or .csv.
bool names_file(const std::string& name);

/// Resolves the path `name` written in `file`: relative to the folder of `file`, or to the nearest parent
/// folder that has it. Absolute paths are returned unchanged. A path that does not exist is returned relative
/// to the folder of `file`, so that messages name that place.
std::string path_from(const std::string& file, const std::string& name);

/// Returns the text to write into `file` so that path_from resolves it to `name`, a path of the caller:
/// `name` itself if that works, else its absolute path. A path that does not exist is returned unchanged.
std::string path_for(const std::string& file, const std::string& name);

}  // namespace penstock::core
