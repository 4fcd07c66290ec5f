#include "families.hpp"
#include "warm_up.hpp"

namespace penstock::schedule {

Grid one_f_one_b(const GridShape& shape) {
  demand(shape.chunks == 1, "one stage per rank");
  Grid grid{{}, loop_placement(shape.ranks, 1)};
  for (int r = 0; r < shape.ranks; ++r) {
    WarmUp order{{}, {}, shape.ranks - 1 - r, {}};
    for (int m = 0; m < shape.micro_batches; ++m) {
      order.forwards.push_back(forward(r, m));
      order.gradients.push_back(backward(r, m));
    }
    grid.ranks.push_back(warm_up_row(order));
  }
  return grid;
}

}  // namespace penstock::schedule
