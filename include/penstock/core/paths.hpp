#pragma once
// Paths that stand in a file: what they mean does not depend on where one stands.

#include <string>

namespace penstock::core {

/// Whether a name is that of a file: it ends in .yaml, .yml, .json or .csv.
bool names_file(const std::string& name);

/// Resolves the path `name` that is written in `file`: beside itself, or from the nearest folder above that
/// has it. An absolute path is itself; one that is nowhere is beside the file, where a message then looks for
/// it.
std::string path_from(const std::string& file, const std::string& name);

/// How `name`, a path of the caller, must stand in `file` for path_from to lead there: as it is, if that
/// does, else as an absolute path. One that leads nowhere stays as it is.
std::string path_for(const std::string& file, const std::string& name);

}  // namespace penstock::core
