#pragma once
// Collects the records of a replay's processes.

#include "links/process_links.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// Shifts the times of a record by `ahead`, to another clock.
void shift(IterationRecord& record, core::Seconds ahead);

/// Collects at process 0, whose `records` then hold what each device's process recorded; a message starts
/// where it is sent and ends where it is received. Records of other processes are unchanged.
void gather(const DevicePrograms& program, const MpiProcesses& processes, ProcessLinks& links,
            ReplayRecords& records);

}  // namespace penstock::replay
