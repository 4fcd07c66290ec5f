#pragma once
// Compares text with a file under tests/golden, byte for byte.

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "support/checkout.hpp"

namespace penstock::support {

/// The file's text. With PENSTOCK_ACCEPT=1 in the environment it becomes `text` first; review the difference
/// in git.
inline std::string accepted(const std::string& name, const std::string& text) {
  const std::string path = checkout("/tests/golden/" + name);
  const char* accept = std::getenv("PENSTOCK_ACCEPT");
  if (accept != nullptr && std::string(accept) == "1") core::write_file(path, text);
  std::string expected;
  CHECK_NOTHROW(expected = core::read_file(path));
  return expected;
}

inline void check_golden(const std::string& name, const std::string& text) {
  const bool same = text == accepted(name, text);
  INFO("differs from tests/golden/", name, "; PENSTOCK_ACCEPT=1 accepts the new text");
  CHECK(same);
}

}  // namespace penstock::support
