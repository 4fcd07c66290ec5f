#include "piper/piper_knapsack.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::planners {
namespace {

/// Depth-first search; the open swaps are sorted by cost per byte.
class SwapSearch {
 public:
  explicit SwapSearch(std::vector<graph::Vertex>& chosen) : chosen_(chosen) {}

  bool search(std::span<const LayerSwap> open, double excess, double budget) {
    if (budget < 0) return false;
    if (excess <= 0) return true;
    if (++branches_ > kMostBranches)
      throw core::Error(core::ExitCode::limit,
                        "piper: choosing what a stage recomputes takes more than 2^22 branches");
    if (!relaxed(open, excess, budget)) return false;
    const LayerSwap& swap = open.front();
    chosen_.push_back(swap.layer);
    if (search(open.subspan(1), excess - swap.saving, budget - swap.cost)) return true;
    chosen_.pop_back();
    return search(without(open), excess, budget);
  }

 private:
  static constexpr std::uint32_t kMostBranches = 1u << 22;

  /// True if the budget suffices when fractions of swaps are allowed.
  static bool relaxed(std::span<const LayerSwap> open, double excess, double budget) {
    for (const LayerSwap& swap : open) {
      if (swap.saving >= excess) return swap.cost * (excess / swap.saving) <= budget;
      excess -= swap.saving;
      budget -= swap.cost;
      if (budget < 0) return false;
    }
    return false;
  }

  /// Swaps left if the first is excluded. Swaps that cost no less and save no more are excluded, too: the
  /// first could replace them.
  static std::vector<LayerSwap> without(std::span<const LayerSwap> open) {
    std::vector<LayerSwap> left;
    for (const LayerSwap& swap : open)
      if (swap.cost < open.front().cost || swap.saving > open.front().saving) left.push_back(swap);
    return left;
  }

  std::vector<graph::Vertex>& chosen_;
  std::uint32_t branches_ = 0;
};

}  // namespace

void sort_swaps(std::vector<LayerSwap>& swaps) {
  std::sort(swaps.begin(), swaps.end(), [](const LayerSwap& a, const LayerSwap& b) {
    const double p = a.cost / a.saving, q = b.cost / b.saving;
    return p != q ? p < q : a.layer < b.layer;
  });
}

bool cover_exactly(std::span<const LayerSwap> swaps, const std::function<bool(graph::Vertex)>& inside,
                   double excess, double budget, std::vector<graph::Vertex>& chosen) {
  std::vector<LayerSwap> own;
  std::copy_if(swaps.begin(), swaps.end(), std::back_inserter(own),
               [&](const LayerSwap& swap) { return inside(swap.layer); });
  chosen.clear();
  return SwapSearch(chosen).search(own, excess, budget);
}

}  // namespace penstock::planners
