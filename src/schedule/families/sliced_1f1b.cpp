#include <algorithm>
#include <utility>

#include "families.hpp"

namespace penstock::schedule {
namespace {

/// Number of micro-batches to cut in halves. The last rank starts (p-1) F/2 earlier than with whole
/// micro-batches, and works h (F+B) on the halves of h of them. The next micro-batch, which is whole, has
/// reached it after (h+p-1) F.
int sliced(const ScheduleShape& shape) {
  const auto forward = shape.costs.forward.value();
  const auto backward = (shape.costs.input_gradient + shape.costs.weight_gradient).value();
  const auto gain = (shape.ranks - 1) * forward, each = 2 * backward;
  const auto count = each > 0 ? (gain + each - 1) / each : shape.micro_batches;
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, shape.micro_batches));
}

}  // namespace

Schedule sliced_1f1b(const ScheduleShape& shape) {
  const int cut = shape.group > 0 ? std::min(shape.group, shape.micro_batches) : sliced(shape);
  Schedule schedule = one_f_one_b(shape);
  schedule.halves = 2 * cut;
  for (RankOrder& row : schedule.ranks) {
    const RankOrder passes = std::exchange(row, {});
    for (const Action& pass : passes)
      for (int part = 0; part < (pass.micro_batch < cut ? 2 : 1); ++part)
        row.push_back({pass.kind, pass.stage, pass.micro_batch + std::min(pass.micro_batch, cut) + part});
  }
  return schedule;
}

}  // namespace penstock::schedule
