#pragma once
// Published files that are not part of the repository; tests that need them are skipped without them.

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace penstock::support {

/// The file or folder below $PENSTOCK_REFERENCE_DATA (default: ../shared/data beside the source root), or an
/// empty path when it is absent, which a message then tells.
inline std::string reference_data(const std::string& name) {
  const char* folder = std::getenv("PENSTOCK_REFERENCE_DATA");
  const std::filesystem::path path =
      std::filesystem::path(folder ? folder : PENSTOCK_SOURCE "/../shared/data") / name;
  if (std::filesystem::exists(path)) return path.string();
  MESSAGE("skipped: no reference data ", path.string());
  return "";
}

}  // namespace penstock::support
