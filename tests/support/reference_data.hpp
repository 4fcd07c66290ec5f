#pragma once
// Published files that are not part of the repository; tests that need them are skipped without them.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/checkout.hpp"
#include "support/skip.hpp"

namespace penstock::support {

/// The file or folder below $PENSTOCK_REFERENCE_DATA (default: ../shared/data beside the source root), or an
/// empty path when it is absent; the case then counts as skipped.
inline std::string reference_data(const std::string& name) {
  const char* folder = std::getenv("PENSTOCK_REFERENCE_DATA");
  const std::filesystem::path path =
      std::filesystem::path(folder ? std::string(folder) : checkout("/../shared/data")) / name;
  if (std::filesystem::exists(path)) return path.string();
  skip("no reference data " + path.string());
  return "";
}

}  // namespace penstock::support
