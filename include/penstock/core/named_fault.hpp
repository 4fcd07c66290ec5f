#pragma once
// Faults that name the file which leads to them.

#include <string>

#include "penstock/core/error.hpp"

namespace penstock::core {

/// Runs `read`. A BadInput that names neither a file nor this one becomes one of this file, and of its line
/// where `line` is above 0. An empty `file` is none.
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
