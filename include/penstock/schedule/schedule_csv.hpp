#pragma once
// File form of a schedule: the CSV that torch.distributed.pipelining loads and stores.

#include <string>
#include <string_view>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// Parses one line per rank, cells in order, without header. An empty cell is idle; blank lines at the end
/// are ignored. A stage's rank follows from the first pass that names it. Throws BadInput naming line and
/// cell. The result may still have schedule_violations. Differs from PyTorch: refuses numbers of more than
/// six digits, and pairs other than (F;B).
Schedule parse_schedule(std::string_view text, const std::string& file);
Schedule load_schedule(const std::string& file);

/// Writes text that PyTorch reads, unless the schedule has R, EVICT, LOAD, STEP or BARRIER, which only
/// Penstock defines. Throws BadInput for halves of micro-batches, which the file cannot distinguish from
/// whole ones.
std::string to_csv(const Schedule& schedule);

}  // namespace penstock::schedule
