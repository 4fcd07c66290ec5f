#include <algorithm>

#include "families.hpp"
#include "warm_up.hpp"

namespace penstock::schedule {
namespace {

/// The last rank starts (p-1) F/2 earlier than with whole micro-batches, and works h (F+B) on the halves of h of them; the
/// next, a whole one, has reached it after (h+p-1) F.
int sliced(const GridShape& shape) {
  const auto forward = shape.costs.forward.value();
  const auto backward = (shape.costs.input_gradient + shape.costs.weight_gradient).value();
  const auto gain = (shape.ranks - 1) * forward, each = 2 * backward;
  const auto count = each > 0 ? (gain + each - 1) / each : shape.micro_batches;
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, shape.micro_batches));
}

}  // namespace

Grid sliced_1f1b(const GridShape& shape) {
  demand(shape.chunks == 1, "one stage per rank");
  const int cut = shape.group > 0 ? std::min(shape.group, shape.micro_batches) : sliced(shape);
  Grid grid{{}, loop_placement(shape.ranks, 1)};
  grid.halves = 2 * cut;
  for (int r = 0; r < shape.ranks; ++r) {
    WarmUp order{{}, {}, shape.ranks - 1 - r, {}};
    for (int m = 0; m < shape.micro_batches; ++m) {
      order.forwards.push_back(forward(r, m));
      order.gradients.push_back(backward(r, m));
    }
    Row& row = grid.ranks.emplace_back();
    for (const Action& pass : warm_up_row(order))
      for (int part = 0; part < (pass.micro_batch < cut ? 2 : 1); ++part)
        row.push_back({pass.pass, r, pass.micro_batch + std::min(pass.micro_batch, cut) + part});
  }
  return grid;
}

}  // namespace penstock::schedule
