#include <algorithm>
#include <utility>

#include "families.hpp"

namespace penstock::schedule {
namespace {

/// Passes with the slot in which they run when forward and backward take one slot each.
using Slotted = std::vector<std::pair<int, Action>>;

/// One stage of one direction. Units of p/2 micro-batches follow each other every 2p slots; within a unit,
/// micro-batch j starts in slot 2j, runs through the p stages and back. The other direction meets the odd
/// slots where this one meets the even ones, so no rank is asked for twice.
void add_stage(int p, int stage, int offset, int count, Slotted& out) {
  for (int m = 0; m < count; ++m) {
    const int start = m / (p / 2) * 2 * p + m % (p / 2) * 2;
    out.emplace_back(start + stage, forward(offset + stage, m));
    out.emplace_back(start + 2 * p - 1 - stage, backward(offset + stage, m));
  }
}

}  // namespace

Grid chimera(const GridShape& shape) {
  const int p = shape.ranks;
  demand(shape.chunks == 1, "one stage per rank and direction");
  demand(p % 2 == 0, "an even number of ranks");
  demand(shape.micro_batches % 2 == 0, "an even number of micro-batches");
  Grid grid{{}, zigzag_placement(p, 2), 2};
  for (int r = 0; r < p; ++r) {
    Slotted slots;
    add_stage(p, r, 0, shape.micro_batches / 2, slots);
    add_stage(p, p - 1 - r, p, shape.micro_batches / 2, slots);
    std::sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Row& row = grid.ranks.emplace_back();
    for (const auto& [slot, action] : slots) row.push_back(action);
  }
  return grid;
}

}  // namespace penstock::schedule
