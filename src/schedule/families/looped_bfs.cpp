#include "families.hpp"

namespace penstock::schedule {

Schedule looped_bfs(const ScheduleShape& shape) {
  const int p = shape.ranks, v = shape.chunks;
  Schedule schedule{{}, loop_placement(p, v)};
  for (int r = 0; r < p; ++r) {
    RankOrder& row = schedule.ranks.emplace_back();
    for (int s = r; s < p * v; s += p)
      for (int m = 0; m < shape.micro_batches; ++m) row.push_back(forward(s, m));
    for (int s = r + (v - 1) * p; s >= 0; s -= p)
      for (int m = shape.micro_batches; m-- > 0;) row.push_back(backward(s, m));
  }
  return schedule;
}

}  // namespace penstock::schedule
