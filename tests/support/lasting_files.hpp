#pragma once
// The part of a results folder that does not depend on machine and day.

#include <filesystem>
#include <map>
#include <string>

#include "penstock/core/files.hpp"

namespace penstock::support {

/// Path to content.
inline std::map<std::string, std::string> lasting_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = fs::relative(entry.path(), folder).string();
    if (entry.is_regular_file() && !path.starts_with(".cache/") && path != "timings.csv" &&
        path != "provenance.json")
      out[path] = core::read_file(entry.path().string());
  }
  return out;
}

}  // namespace penstock::support
