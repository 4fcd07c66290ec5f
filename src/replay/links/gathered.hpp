#pragma once
// What the processes of a replay have noted, put together.

#include "links/process_links.hpp"
#include "run/record.hpp"

namespace penstock::replay {

/// By `ahead` later: of another clock.
void shift(Record& record, core::Seconds ahead);

/// To process 0, whose `records` then hold what each device's own process noted; a message starts where it is
/// sent and ends where it is received. Elsewhere they are left as they are.
void gather(const DevicePrograms& program, const Processes& processes, ProcessLinks& links, Records& records);

}  // namespace penstock::replay
