#pragma once
// Every plan of a tiny problem, whatever it divides and in whatever order it runs: the slow twin of `joint`.

#include <functional>

#include "penstock/cost/problem.hpp"

namespace penstock::support {

/// Every partition of the operators into stages that can be ordered, on every number of consecutive devices,
/// in tensor-parallel groups of every power of two. With every ZeRO stage and recomputation (one for all
/// stages), every micro-batch that divides the mini-batch; by gpipe, 1f1b, zb_h1 and zb_h2. Also every cut of
/// the operators' row into two stages per rank, by looped_bfs, interleaved_1f1b, interleaved_zb, zbv. Within
/// memory. At most four operators or so.
void for_each_joint_plan(const cost::Problem& problem, const std::function<void(const plan::Plan&)>& visit);

}  // namespace penstock::support
