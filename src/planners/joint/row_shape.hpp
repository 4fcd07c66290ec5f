#pragma once
// The units of a draft in one row, cut anew for other ranks or more stages per rank.

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "joint/move.hpp"

namespace penstock::planners {

/// A rank as far as it may be dealt other units.
struct RankShape {
  plan::Stage like;  ///< devices, degrees and settings of its stages
  double load = 0;   ///< what it has to do, in any unit
};

/// Where stage s of several per rank stands: s mod ranks, or to and fro (schedule::zigzag_placement).
enum class Deal : std::uint8_t { loop, zigzag };

/// A family, and how it deals stages to ranks.
struct FamilyShape {
  const char* name;
  Deal deal;
  std::size_t least, most;  ///< stages per rank
};
inline constexpr std::size_t kMostLoops = 8;
/// Those with a flush whose orders a plan can hold: one copy of the model, whole micro-batches, activations
/// where they were made.
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
/// The cluster's devices in turn, so many on each rank, with the settings of `like` and equal loads; `size`
/// divides their number.
std::vector<RankShape> even_ranks(const cluster::Cluster& cluster, int size, const plan::Stage& like);
/// Neighbours joined in pairs, or each in two halves; empty where these are no whole groups.
std::vector<RankShape> joined(const std::vector<RankShape>& ranks);
std::vector<RankShape> halved(const std::vector<RankShape>& ranks);

/// Stages of neighbouring units, `chunks` on each rank, each with its share of the rank's load; no stages
/// where there are fewer units than that.
void cut_row(const PlanSpace& space, const std::vector<RankShape>& ranks, std::size_t chunks, Deal deal,
             plan::Plan& plan);

}  // namespace penstock::planners
