#pragma once
// Rest of an opened block after its neighbours have taken their pieces.

#include "graphpipe/partition.hpp"

namespace penstock::planners {

/// One way to take the front and the back piece: both may belong to one branch or to two.
struct HeadParts {
  /// A branch that gives elements [0, front_end) to the stage in front and [back_begin, size) to the stage
  /// behind.
  struct TouchedBranch {
    int kind;
    int size;
    int front_end;
    int back_begin;
    bool remains() const { return front_end < back_begin; }
  };
  std::vector<TouchedBranch> touched;
  Selection rest;  ///< complete branches; groups taken whole are removed

  bool nothing() const;
  static std::vector<HeadParts> ways(const std::vector<int>& branch_sizes, const Selection& counts,
                                     const BlockPiece& front, const BlockPiece& back);
};

}  // namespace penstock::planners
