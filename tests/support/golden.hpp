#pragma once
// Compares text with a file under tests/golden, byte for byte.

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "support/checkout.hpp"

namespace penstock::support {

/// With PENSTOCK_ACCEPT=1 in the environment the file is rewritten instead; review the difference in git.
inline void check_golden(const std::string& name, const std::string& text) {
  const std::string path = checkout("/tests/golden/" + name);
  const char* accept = std::getenv("PENSTOCK_ACCEPT");
  if (accept != nullptr && std::string(accept) == "1") core::write_file(path, text);
  std::string expected;
  CHECK_NOTHROW(expected = core::read_file(path));
  const bool same = text == expected;
  INFO("differs from ", path, "; PENSTOCK_ACCEPT=1 accepts the new text");
  CHECK(same);
}

}  // namespace penstock::support
