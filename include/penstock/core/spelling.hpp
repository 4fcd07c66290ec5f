#pragma once
// Suggestions for misspelt names.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::core {

/// "did you mean 'x'?" when one of `known` is within two edits, else "expected one of a, b, c".
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

/// Suggestion for a name that users write differently. Where did_you_mean has none: a name whose letters and digits differ
/// in one ("Llama-3.1-8B" for llama3-8b), or the longest of at least four that `given` contains ("Megatron-LM").
std::string did_you_mean_name(std::string_view given, const std::vector<std::string>& known);

/// Position of `given` in `known`. Throws BadInput, "unknown <what> '<given>'; did you mean ...", if it is
/// not among them.
std::size_t index_of(std::string_view given, std::span<const std::string_view> known, std::string_view what);

}  // namespace penstock::core
