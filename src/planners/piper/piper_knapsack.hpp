#pragma once
// Choice of the layers to recompute in a stage: minimum extra time that saves enough memory.

#include <functional>
#include <span>
#include <vector>

#include "penstock/graph/dag.hpp"

namespace penstock::planners {

/// Running a layer in its slower configuration.
struct LayerSwap {
  double cost = 0;    ///< extra seconds, not negative
  double saving = 0;  ///< bytes saved, positive
  graph::Vertex layer = 0;
};

/// Sorts by cost per byte saved, then layer.
void sort_swaps(std::vector<LayerSwap>& swaps);

enum class KnapsackRule {
  /// Swaps in order until the excess is gone; what the last one saves in excess is not undone (Piper's
  /// choice).
  greedy,
  exact,  ///< any subset
};

/// Exact search of `cover`; any subset of the swaps inside.
bool cover_exactly(std::span<const LayerSwap> swaps, const std::function<bool(graph::Vertex)>& inside,
                   double excess, double budget, std::vector<graph::Vertex>& chosen);

/// Finds swaps inside a stage that save at least `excess` > 0 bytes for at most `budget` seconds; returns
/// false if there are none. `swaps` is sorted, `chosen` receives the layers. Exact: if the greedy choice is
/// too expensive but the fractional relaxation is not, searches depth first, bounded by that relaxation
/// (Dantzig, Operations Research 1957). Throws a limit error after 2^22 branches.
template <class Inside>
bool cover(std::span<const LayerSwap> swaps, Inside&& inside, double excess, double budget,
           KnapsackRule knapsack, std::vector<graph::Vertex>& chosen) {
  double rest = excess, money = budget;
  for (const LayerSwap& swap : swaps) {
    if (!inside(swap.layer)) continue;
    if (knapsack == KnapsackRule::exact && swap.saving > rest && swap.cost > money) {
      if (swap.cost * (rest / swap.saving) > money) return false;
      return cover_exactly(swaps, inside, excess, budget, chosen);
    }
    rest -= swap.saving;
    money -= swap.cost;
    if (money < 0) return false;
    chosen.push_back(swap.layer);
    if (rest <= 0) return true;
  }
  return false;
}

}  // namespace penstock::planners
