#pragma once
// Operators that cost equally much.

#include <cstdint>
#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::cost {

/// [operator] a number that two operators share only if all costs of a stage of one operator are equal for both:
/// they have equal attributes, operands and readers. An operator whose time its name decides, or that shares
/// parameters with others, has its own number.
std::vector<std::uint32_t> alike_operators(const Problem& problem);

}  // namespace penstock::cost
