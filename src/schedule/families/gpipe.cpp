#include "families.hpp"

namespace penstock::schedule {

Schedule gpipe(const ScheduleShape& shape) {
  demand(shape.chunks == 1, "one stage per rank");
  Schedule schedule{{}, loop_placement(shape.ranks, 1)};
  for (int r = 0; r < shape.ranks; ++r) {
    RankOrder& row = schedule.ranks.emplace_back();
    for (int m = 0; m < shape.micro_batches; ++m) row.push_back(forward(r, m));
    for (int m = 0; m < shape.micro_batches; ++m) row.push_back(backward(r, m));
  }
  return schedule;
}

}  // namespace penstock::schedule
