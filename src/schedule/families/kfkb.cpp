#include <algorithm>

#include "families.hpp"
#include "warm_up.hpp"

namespace penstock::schedule {

Grid kfkb(const GridShape& shape) {
  demand(shape.chunks == 1, "one stage per rank");
  const int k = std::clamp(shape.group, 1, shape.micro_batches), groups = (shape.micro_batches + k - 1) / k;
  Grid grid{{}, loop_placement(shape.ranks, 1)};
  for (int r = 0; r < shape.ranks; ++r) {
    // 1F1B whose micro-batches are the groups; then every group's pass becomes those of its micro-batches.
    WarmUp order{{}, {}, shape.ranks - 1 - r, {}};
    for (int g = 0; g < groups; ++g) {
      order.forwards.push_back(forward(r, g));
      order.gradients.push_back(backward(r, g));
    }
    Row& row = grid.ranks.emplace_back();
    for (const Action& pass : warm_up_row(order))
      for (int m = pass.micro_batch * k; m < std::min(shape.micro_batches, (pass.micro_batch + 1) * k); ++m)
        row.push_back({pass.pass, r, m});
  }
  return grid;
}

}  // namespace penstock::schedule
