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
enum class StageAssignment : std::uint8_t { loop, zigzag };

/// A family, and how it assigns stages to ranks.
struct FamilyShape {
  const char* name;
  StageAssignment deal;
  std::size_t least, most;  ///< stages per rank
};
inline constexpr std::size_t kMostLoops = 8;
/// Families with a flush whose orders a plan can hold: one copy of the model, whole micro-batches,
/// activations on their own device.
inline constexpr std::array kFamilyShapes = {
    FamilyShape{"1f1b", StageAssignment::loop, 1, 1},
    FamilyShape{"gpipe", StageAssignment::loop, 1, 1},
    FamilyShape{"dapple", StageAssignment::loop, 1, 1},
    FamilyShape{"list_order", StageAssignment::loop, 1, 1},
    FamilyShape{"zb_h1", StageAssignment::loop, 1, 1},
    FamilyShape{"zb_h2", StageAssignment::loop, 1, 1},
    FamilyShape{"zb_1p", StageAssignment::loop, 1, 1},
    FamilyShape{"zb_2p", StageAssignment::loop, 1, 1},
    FamilyShape{"looped_bfs", StageAssignment::loop, 2, kMostLoops},
    FamilyShape{"interleaved_1f1b", StageAssignment::loop, 2, kMostLoops},
    FamilyShape{"interleaved_zb", StageAssignment::loop, 2, kMostLoops},
    FamilyShape{"zbv", StageAssignment::zigzag, 2, 2},
    FamilyShape{"dualpipev", StageAssignment::zigzag, 2, 2},
    FamilyShape{"v_half", StageAssignment::zigzag, 2, 2},
    FamilyShape{"v_min", StageAssignment::zigzag, 2, 2},
    FamilyShape{"v_zb", StageAssignment::zigzag, 2, 2},
    FamilyShape{"v_1f1b", StageAssignment::zigzag, 2, 2},
    FamilyShape{"hanayo", StageAssignment::zigzag, 2, kMostLoops}};

std::vector<RankShape> rank_shapes(const MoveContext& sight);
/// Ranks of `size` consecutive devices each, with the settings of `like` and equal loads; `size` divides the
/// number of devices.
std::vector<RankShape> even_ranks(const cluster::Cluster& cluster, int size, const plan::Stage& like);
/// Merges neighbours in pairs, or halves each rank; empty if these are no whole groups.
std::vector<RankShape> joined(const std::vector<RankShape>& ranks);
std::vector<RankShape> halved(const std::vector<RankShape>& ranks);

/// Sets stages of neighbouring units, `chunks` on each rank, each with its share of the rank's load; no
/// stages if there are too few units.
void cut_row(const PlanSpace& space, const std::vector<RankShape>& ranks, std::size_t chunks,
             StageAssignment deal, plan::Plan& plan);

}  // namespace penstock::planners
