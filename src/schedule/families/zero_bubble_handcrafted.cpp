#include "families.hpp"
#include "warm_up.hpp"

namespace penstock::schedule {
namespace {

/// Rank r warms up with depth (p-1-r) forwards; its weight gradients lag by depth r.
Schedule handcrafted(const ScheduleShape& shape, int depth) {
  demand(shape.chunks == 1, "one stage per rank");
  Schedule schedule{{}, loop_placement(shape.ranks, 1)};
  for (int r = 0; r < shape.ranks; ++r) {
    WarmUp order{{}, {}, depth * (shape.ranks - 1 - r), depth * r};
    for (int m = 0; m < shape.micro_batches; ++m) {
      order.forwards.push_back(forward(r, m));
      order.gradients.push_back(input_gradient(r, m));
    }
    schedule.ranks.push_back(warm_up_order(order));
  }
  return schedule;
}

}  // namespace

Schedule zb_h1(const ScheduleShape& shape) {
  return handcrafted(shape, 1);
}

Schedule zb_h2(const ScheduleShape& shape) {
  demand(shape.micro_batches >= 2 * shape.ranks - 1, "at least 2p - 1 micro-batches");
  return handcrafted(shape, 2);
}

}  // namespace penstock::schedule
