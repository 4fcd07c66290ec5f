#pragma once
// Overwrites files that are locked and thus cannot be replaced.

#include <fstream>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock::experiment {

/// Writes in place, so that the file keeps its lock. Throws BadInput.
inline void overwrite(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  if (!out) throw core::BadInput("cannot write file '" + path + "'");
}

}  // namespace penstock::experiment
