#pragma once
// Cycles through all members of a group that share no channel of a cable. Private to the room.

#include <cstdint>
#include <vector>

#include "penstock/collective/messages.hpp"

namespace penstock::collective {

/// [member][member] weight of the cable between two members: bandwidth, or a whole number of channels.
/// Symmetric; zero: no cable.
using CableWeights = std::vector<std::vector<double>>;

/// Smallest weight of all cables between a set of members and the others (Stoer and Wagner, A Simple Min-Cut
/// Algorithm, JACM 44(4), 1997). Needs two members or more.
double min_cut(CableWeights weights);

/// Search steps after which disjoint_cycles() takes the cycles found so far.
inline constexpr std::int64_t kMostCycleSteps = 5'000;

/// Returns as many cycles as possible, each through all members from member 0 on, with at most as many cycles
/// over a cable as it has channels. A cycle crosses every cut twice, so there are at most min_cut / 2. Exact
/// (depth first over cycles in lexicographic order), unless the search reaches `most_steps`: then fewer
/// cycles may be returned. Deterministic. Needs three members or more.
std::vector<Members> disjoint_cycles(const CableWeights& channels, std::int64_t most_steps = kMostCycleSteps);

}  // namespace penstock::collective
