#include <algorithm>
#include <utility>

#include "families.hpp"

namespace penstock::schedule {

Schedule kfkb(const ScheduleShape& shape) {
  const int k = std::clamp(shape.group, 1, shape.micro_batches), groups = (shape.micro_batches + k - 1) / k;
  ScheduleShape groups_only = shape;
  groups_only.micro_batches = groups;
  Schedule schedule =
      one_f_one_b(groups_only);  // every pass of a group becomes the passes of its micro-batches
  for (RankOrder& row : schedule.ranks) {
    const RankOrder passes = std::exchange(row, {});
    for (const Action& pass : passes)
      for (int m = pass.micro_batch * k; m < std::min(shape.micro_batches, (pass.micro_batch + 1) * k); ++m)
        row.push_back({pass.kind, pass.stage, m});
  }
  return schedule;
}

}  // namespace penstock::schedule
