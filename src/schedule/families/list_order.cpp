#include "penstock/schedule/list_order.hpp"

#include "families.hpp"

namespace penstock::schedule {

Schedule list_order_schedule(const ScheduleShape& shape) {
  demand(shape.chunks == 1, "one stage per rank");
  Pipeline pipeline;
  pipeline.micro_batches = shape.micro_batches;
  for (int r = 0; r < shape.ranks; ++r) {
    pipeline.stages.push_back({shape.costs.forward,
                               shape.costs.input_gradient + shape.costs.weight_gradient,
                               shape.memory_limit.value_or(0),
                               {}});
    if (r > 0) pipeline.links.push_back({r - 1, r, {}, {}, shape.costs.delay, shape.costs.delay});
  }
  const MachineOrder order = list_order(pipeline).order;
  Schedule schedule{{}, loop_placement(shape.ranks, 1)};
  for (int r = 0; r < shape.ranks; ++r)
    schedule.ranks.push_back(rank_order(r, order[static_cast<std::size_t>(r)]));
  return schedule;
}

}  // namespace penstock::schedule
