#pragma once
// Small operators of every kind and option, as the zoo's layers make them; odd sizes, ones and primes.

#include <string>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::test {

std::vector<graph::Operator> kernel_cases();
/// Cases of kernel_cases(), and kinds that only the host has kernels for.
std::vector<graph::Operator> host_kernel_cases();

/// Sizes that fill the tiles of a device's libraries, more than one round of a group of threads, more than
/// one piece of a sum.
std::vector<graph::Operator> larger_kernel_cases();

}  // namespace penstock::test
