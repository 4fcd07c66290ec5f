#pragma once
// Imitation of a library that joins devices of several processes of this machine, by shared memory.

#include "penstock/kernels/collectives.hpp"

namespace penstock::replay::test {

/// How often a process has called one here, and how one fails: the sum of that number, if it is 1 or more.
struct DistantCalls {
  int joined = 0, sums = 0, sends = 0, broken_sum = 0;
};
DistantCalls& distant_calls();

kernels::Invitation invite_distant();
/// Among `ranks`, null for those of other processes. Sums are added in the order of ranks; what is sent moves
/// in small parts, each time that a caller checks whether it has settled. Numbers of the host.
std::unique_ptr<kernels::Collectives> join_distant(const std::vector<kernels::Backend*>& ranks,
                                                   const kernels::Invitation& invitation);

}  // namespace penstock::replay::test
