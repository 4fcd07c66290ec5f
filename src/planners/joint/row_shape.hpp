#pragma once
// The units of a draft in one row, cut anew for other ranks or more stages per rank.

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
