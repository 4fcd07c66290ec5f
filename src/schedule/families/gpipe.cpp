#include "families.hpp"

namespace penstock::schedule {

Grid gpipe(const GridShape& shape) {
  demand(shape.chunks == 1, "one stage per rank");
  Grid grid{{}, loop_placement(shape.ranks, 1)};
  for (int r = 0; r < shape.ranks; ++r) {
    Row& row = grid.ranks.emplace_back();
    for (int m = 0; m < shape.micro_batches; ++m) row.push_back(forward(r, m));
    for (int m = 0; m < shape.micro_batches; ++m) row.push_back(backward(r, m));
  }
  return grid;
}

}  // namespace penstock::schedule
