#include <algorithm>

#include "families.hpp"
#include "warm_up.hpp"

namespace penstock::schedule {
namespace {

/// `in_flight(ranks)`: micro-batches to hold on the rank that is `ranks` from the end.
template <class InFlight>
Schedule one_f_one_b(const ScheduleShape& shape, InFlight in_flight) {
  demand(shape.chunks == 1, "one stage per rank");
  Schedule schedule{{}, loop_placement(shape.ranks, 1)};
  for (int r = 0; r < shape.ranks; ++r) {
    WarmUp order{{}, {}, in_flight(shape.ranks - r) - 1, {}};
    for (int m = 0; m < shape.micro_batches; ++m) {
      order.forwards.push_back(forward(r, m));
      order.gradients.push_back(backward(r, m));
    }
    schedule.ranks.push_back(warm_up_order(order));
  }
  return schedule;
}

}  // namespace

Schedule one_f_one_b(const ScheduleShape& shape) {
  return one_f_one_b(shape, [](int ranks) { return ranks; });
}

Schedule pipedream_2bw(const ScheduleShape& shape) {
  demand(micro_batches_per_update(weight_policy("double_buffered"), shape) >= shape.ranks,
         "a group of at least p micro-batches per update");
  return one_f_one_b(shape);
}

Schedule dapple(const ScheduleShape& shape) {
  const int limit = shape.memory_limit.value_or(shape.micro_batches);
  return one_f_one_b(shape, [limit](int ranks) { return std::min(2 * ranks - 1, limit); });
}

}  // namespace penstock::schedule
