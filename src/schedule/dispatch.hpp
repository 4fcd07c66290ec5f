#pragma once
// List scheduling in time: an idle machine runs what is ready.

#include "penstock/schedule/pipeline.hpp"

namespace penstock::schedule {

struct DispatchResult {
  MachineOrder order;
  core::Picoseconds makespan;  ///< equal to that of `execute`: every task starts as early as the order allows
};

/// Stages follow `stage_rows` if given. Otherwise, and on links, a backward runs before a forward, and a
/// forward only if there is room. At equal times machines are visited in order.
DispatchResult dispatch(const Pipeline& pipeline, const MachineOrder& stage_rows);

}  // namespace penstock::schedule
