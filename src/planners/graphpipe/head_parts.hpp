#pragma once
// What remains of an opened block when its neighbours have taken their pieces.

#include "graphpipe/partition.hpp"

namespace penstock::planners {

/// The front and the back piece may belong to one branch or to two; each possibility is one way.
struct HeadParts {
  /// A branch that gives elements [0, front_end) to the stage in front and [back_begin, size) to the one
  /// behind.
  struct Touched {
    int kind;
    int size;
    int front_end;
    int back_begin;
    bool remains() const { return front_end < back_begin; }
  };
  std::vector<Touched> touched;
  Selection rest;  ///< branches nobody touched; groups taken whole are gone

  bool nothing() const;
  static std::vector<HeadParts> ways(const std::vector<int>& branch_sizes, const Selection& counts,
                                     const Piece& front, const Piece& back);
};

}  // namespace penstock::planners
