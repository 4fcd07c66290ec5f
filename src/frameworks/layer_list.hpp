#pragma once
// A list of numbers, one a layer, as Python writes it.

#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock::frameworks {

/// Reads [0]*3+[1]*58, ([0]*3+[1]*58), [0, 1, 1]*2: lists, their sums and whole multiples, in brackets.
/// Throws BadInput for any other text, and for more than 65,536 numbers.
std::vector<std::int64_t> parse_layer_list(std::string_view text);

}  // namespace penstock::frameworks
