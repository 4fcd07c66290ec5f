#pragma once
// The structure a partition searches: rows of elements, and blocks of branches that run side by side.

#include <string>
#include <vector>

#include "penstock/graph/series_parallel.hpp"
#include "units.hpp"

namespace penstock::planners {

/// Positions number the units depth first, so every element, row and branch covers consecutive positions.
struct Element {
  int begin = 0;   ///< first position
  int end = 0;     ///< one past the last
  int block = -1;  ///< index into Arrangement::blocks; -1: a single unit
};

struct Sequence {
  std::vector<Element> elements;
  int begin() const { return elements.front().begin; }
  int end() const { return elements.back().end; }
  int size() const { return static_cast<int>(elements.size()); }
  bool plain() const { return size() == end() - begin(); }  ///< no blocks
};

/// Branches that cost the same in every respect are of one kind; the search plans one of each kind.
struct BranchKind {
  std::vector<int> instances;  ///< sequences, alike position by position; the first is the one planned
  int count() const { return static_cast<int>(instances.size()); }
};

struct Block {
  std::vector<BranchKind> kinds;
};

struct Arrangement {
  std::vector<int> unit_at;  ///< [position]
  std::vector<Sequence> sequences;
  std::vector<Block> blocks;
  int root = 0;  ///< a sequence
};

/// What a planner can know of a unit. Two branches whose units agree position by position cost the same.
struct UnitFace {
  std::string cost;  ///< equal text: equal cost in isolation
  struct Tensor {
    int unit;  ///< the other end
    int slot;  ///< which of the producing unit's operators made it
    friend auto operator<=>(const Tensor&, const Tensor&) = default;
  };
  std::vector<Tensor> reads;    ///< tensors made by other units, sorted
  std::vector<Tensor> readers;  ///< other units that read this unit's tensors, sorted
};

/// From the series-parallel tree of the units.
Arrangement arrange(const graph::SpTree& tree, const std::vector<UnitFace>& faces);
/// All units in one row, in their own order.
Arrangement arrange_in_row(std::size_t units);

}  // namespace penstock::planners
