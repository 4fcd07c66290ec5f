#pragma once
// Where the files of this checkout lie. The path is known to one source file only, so that every other one
// compiles to the same result wherever the checkout lies, which compiler caches need.

#include <string>

namespace penstock::support {

/// The checkout's root followed by `below`, which is empty or begins with "/".
std::string checkout(const std::string& below = "");

}  // namespace penstock::support
