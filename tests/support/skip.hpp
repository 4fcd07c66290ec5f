#pragma once
// Cases that have nothing to try here: without a device, or without published files. doctest cannot skip a
// case once it runs and counts it as passed. A program that ends with tell_skipped() prints how many of these
// were none.

#include <doctest/doctest.h>

#include <cstdio>
#include <set>
#include <string>

namespace penstock::support {

inline std::set<const void*>& skipped_cases() {
  static std::set<const void*> cases;
  return cases;
}

/// Counts the running case as skipped, once, and prints the reason; the case then returns.
inline void skip(const std::string& why) {
  skipped_cases().insert(doctest::getContextOptions()->currentTest);
  MESSAGE("skipped: ", why);
}

/// The line that tools/test reads.
inline void tell_skipped() {
  if (!skipped_cases().empty()) std::printf("[skipped] test cases: %zu\n", skipped_cases().size());
}

}  // namespace penstock::support
