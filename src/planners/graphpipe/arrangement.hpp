#pragma once
// Structure that a partition searches: sequences of elements, and blocks of branches that run side by side.

#include <string>
#include <vector>

#include "penstock/graph/series_parallel.hpp"
#include "units.hpp"

namespace penstock::planners {

/// An element of a sequence. Positions number the units depth first, so every element, sequence and branch
/// covers consecutive positions.
struct SequenceElement {
  int begin = 0;   ///< first position
  int end = 0;     ///< one past the last
  int block = -1;  ///< index into Arrangement::blocks; -1: a single unit
};

struct UnitSequence {
  std::vector<SequenceElement> elements;
  int begin() const { return elements.front().begin; }
  int end() const { return elements.back().end; }
  int size() const { return static_cast<int>(elements.size()); }
  bool plain() const { return size() == end() - begin(); }  ///< no blocks
};

/// Branches of equal cost in every respect form one kind; the search plans one of each kind.
struct BranchKind {
  std::vector<int> instances;  ///< sequences, equal position by position; the first is the one planned
  int count() const { return static_cast<int>(instances.size()); }
};

struct BranchBlock {
  std::vector<BranchKind> kinds;
};

struct UnitArrangement {
  std::vector<int> unit_at;  ///< [position]
  std::vector<UnitSequence> sequences;
  std::vector<BranchBlock> blocks;
  int root = 0;  ///< index of a sequence
};

/// Properties of a unit that affect its cost. Two branches whose units are equal position by position have
/// equal costs.
struct UnitFace {
  std::string cost;  ///< equal text means equal cost in isolation
  struct FaceTensor {
    int unit;  ///< unit at the other end
    int slot;  ///< index among the producing unit's operators
    friend auto operator<=>(const FaceTensor&, const FaceTensor&) = default;
  };
  std::vector<FaceTensor> reads;    ///< tensors made by other units, sorted
  std::vector<FaceTensor> readers;  ///< other units that read this unit's tensors, sorted
};

/// Builds the arrangement from the series-parallel tree of the units.
UnitArrangement arrange(const graph::SpTree& tree, const std::vector<UnitFace>& faces);
/// Builds one sequence of all units, in their own order.
UnitArrangement arrange_in_row(std::size_t units);

}  // namespace penstock::planners
