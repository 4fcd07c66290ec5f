#pragma once
// A device that computes nothing and holds no numbers (a reader gets zeros): the memory needs of a replay, at
// any size, at no cost.

#include "penstock/kernels/backend.hpp"

namespace penstock::replay::test {

/// Kernels, their operands and their workspace are those of `host`.
std::unique_ptr<kernels::Backend> hollow(kernels::Backend& host);

}  // namespace penstock::replay::test
