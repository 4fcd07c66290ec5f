#pragma once
// Micro-batches that interleaved schedules run chunk by chunk.

#include <algorithm>
#include <cstdint>

namespace penstock::schedule {

/// Micro-batches of a group of `interleaved_1f1b` and `interleaved_zb` without --group: as many groups as
/// hold `ranks` each, of equal size. The rule of torch's ScheduleInterleaved1F1B, where `micro_batches` must
/// be a multiple of the number of groups.
constexpr std::int64_t interleaved_groups(std::int64_t ranks, std::int64_t micro_batches) {
  return std::max<std::int64_t>(1, micro_batches / ranks);
}
constexpr std::int64_t interleaved_group(std::int64_t ranks, std::int64_t micro_batches) {
  return micro_batches / interleaved_groups(ranks, micro_batches);
}

}  // namespace penstock::schedule
