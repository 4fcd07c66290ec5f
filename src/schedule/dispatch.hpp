#pragma once
// List scheduling in time: whoever is idle runs what is ready.

#include "penstock/schedule/pipeline.hpp"

namespace penstock::schedule {

struct Dispatched {
  MachineOrder order;
  core::Picoseconds makespan;  ///< as `execute` takes, for every task starts as early as the order allows
};

/// Stages follow their rows, where rows are given; otherwise, and on links, a backward runs before a forward,
/// and a forward only where there is room. Among moments that coincide machines are asked in order.
Dispatched dispatch(const Pipeline& pipeline, const MachineOrder& stage_rows);

}  // namespace penstock::schedule
