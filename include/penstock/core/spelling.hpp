#pragma once
// Helpful answers to misspelt names.

#include <string>
#include <string_view>
#include <vector>

namespace penstock::core {

/// "did you mean 'x'?" when one of `known` is within two edits, else "expected one of a, b, c".
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

}  // namespace penstock::core
