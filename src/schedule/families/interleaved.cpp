#include <algorithm>

#include "families.hpp"
#include "penstock/schedule/interleaved_group.hpp"
#include "warm_up.hpp"

namespace penstock::schedule {
namespace {

/// Micro-batches per round. Default, as in PyTorch: as many equal rounds as have p micro-batches each.
int group_size(const ScheduleShape& shape) {
  const int p = shape.ranks, m = shape.micro_batches;
  if (shape.group > 0) {
    demand(shape.group >= std::min(p, m), "a group of at least p micro-batches");
    return std::min(shape.group, m);
  }
  demand(m % interleaved_groups(p, m) == 0,
         "as many micro-batches as a multiple of max(1, m / p rounded down), or a group size");
  return static_cast<int>(interleaved_group(p, m));
}

/// Passes group by group, within a group chunk by chunk, with micro-batches in order.
std::vector<Action> passes(const ScheduleShape& shape, int rank, int group, bool ahead,
                           Action (*pass)(int, int)) {
  std::vector<Action> out;
  for (int first = 0; first < shape.micro_batches; first += group)
    for (int chunk = 0; chunk < shape.chunks; ++chunk)
      for (int m = first; m < std::min(first + group, shape.micro_batches); ++m)
        out.push_back(pass(rank + shape.ranks * (ahead ? chunk : shape.chunks - 1 - chunk), m));
  return out;
}

/// `hops`: warm-up forwards per rank that follows.
Schedule interleaved(const ScheduleShape& shape, int hops, bool split) {
  const int p = shape.ranks, group = group_size(shape);
  Schedule schedule{{}, loop_placement(p, shape.chunks)};
  for (int r = 0; r < p; ++r)
    schedule.ranks.push_back(warm_up_order({passes(shape, r, group, true, forward),
                                            passes(shape, r, group, false, split ? input_gradient : backward),
                                            (shape.chunks - 1) * group + hops * (p - 1 - r),
                                            split ? std::optional(r) : std::nullopt}));
  return schedule;
}

}  // namespace

Schedule interleaved_1f1b(const ScheduleShape& shape) {
  return interleaved(shape, 2, false);
}
Schedule interleaved_zb(const ScheduleShape& shape) {
  return interleaved(shape, 1, true);
}

}  // namespace penstock::schedule
