#pragma once
// The units of a draft in one row, cut again for other ranks or more stages per rank.

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "joint/move.hpp"

namespace penstock::planners {

/// Settings of a rank, independent of its units.
struct RankShape {
  plan::Stage like;  ///< devices, degrees and settings of its stages
  double load = 0;   ///< its work, in any unit
};

/// Rank of stage s with several stages per rank: s mod ranks, or zigzag (schedule::zigzag_placement).
enum class Deal : std::uint8_t { loop, zigzag };

/// A family, and how it assigns stages to ranks.
struct FamilyShape {
  const char* name;
  Deal deal;
  std::size_t least, most;  ///< stages per rank
};
inline constexpr std::size_t kMostLoops = 8;
/// Families with a flush whose orders a plan can hold: one copy of the model, whole micro-batches,
/// activations on their own device.
inline constexpr std::array kFamilyShapes = {FamilyShape{"1f1b", Deal::loop, 1, 1},
                                             FamilyShape{"gpipe", Deal::loop, 1, 1},
                                             FamilyShape{"dapple", Deal::loop, 1, 1},
                                             FamilyShape{"list_order", Deal::loop, 1, 1},
                                             FamilyShape{"zb_h1", Deal::loop, 1, 1},
                                             FamilyShape{"zb_h2", Deal::loop, 1, 1},
                                             FamilyShape{"zb_1p", Deal::loop, 1, 1},
                                             FamilyShape{"zb_2p", Deal::loop, 1, 1},
                                             FamilyShape{"looped_bfs", Deal::loop, 2, kMostLoops},
                                             FamilyShape{"interleaved_1f1b", Deal::loop, 2, kMostLoops},
                                             FamilyShape{"interleaved_zb", Deal::loop, 2, kMostLoops},
                                             FamilyShape{"zbv", Deal::zigzag, 2, 2},
                                             FamilyShape{"dualpipev", Deal::zigzag, 2, 2},
                                             FamilyShape{"v_half", Deal::zigzag, 2, 2},
                                             FamilyShape{"v_min", Deal::zigzag, 2, 2},
                                             FamilyShape{"v_zb", Deal::zigzag, 2, 2},
                                             FamilyShape{"v_1f1b", Deal::zigzag, 2, 2},
                                             FamilyShape{"hanayo", Deal::zigzag, 2, kMostLoops}};

std::vector<RankShape> rank_shapes(const Sight& sight);
/// Ranks of `size` consecutive devices each, with the settings of `like` and equal loads; `size` divides the
/// number of devices.
std::vector<RankShape> even_ranks(const cluster::Cluster& cluster, int size, const plan::Stage& like);
/// Merges neighbours in pairs, or halves each rank; empty if these are no whole groups.
std::vector<RankShape> joined(const std::vector<RankShape>& ranks);
std::vector<RankShape> halved(const std::vector<RankShape>& ranks);

/// Sets stages of neighbouring units, `chunks` on each rank, each with its share of the rank's load; no
/// stages if there are too few units.
void cut_row(const PlanSpace& space, const std::vector<RankShape>& ranks, std::size_t chunks, Deal deal,
             plan::Plan& plan);

}  // namespace penstock::planners
