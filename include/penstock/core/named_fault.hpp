#pragma once
// Adds the name of a file to errors found while reading it.

#include <string>

#include "penstock/core/error.hpp"

namespace penstock::core {

/// Runs `read`. If it throws a BadInput that names no file, rethrows it with `file`, and with `line` if above
/// 0. An empty `file` adds none.
template <class Read>
auto naming(const std::string& file, const Read& read, int line = 0) {
  try {
    return read();
  } catch (const BadInput& fault) {
    const std::string message = fault.what();
    if (!fault.place().file.empty() || message.find(file) != std::string::npos) throw;
    throw BadInput({file, line, ""}, message);
  }
}

}  // namespace penstock::core
