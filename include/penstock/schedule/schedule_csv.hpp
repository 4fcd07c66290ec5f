#pragma once
// The file form of a schedule: the CSV that torch.distributed.pipelining loads and stores.

#include <string>
#include <string_view>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// One line per rank, cells in order, no header; an empty cell is idle, blank lines at the end are none. The
/// stage's rank is read off the first pass that names it. Throws BadInput naming line and cell; what is read
/// may still have schedule_violations. Differs from PyTorch in what it refuses: numbers of more than six
/// digits, and pairs other than (F;B).
Schedule parse_schedule(std::string_view text, const std::string& file);
Schedule load_schedule(const std::string& file);

/// PyTorch reads it back unless it has R, EVICT, LOAD, STEP or BARRIER, which only Penstock knows.
/// Throws BadInput for halves of micro-batches, which a file cannot tell from whole ones.
std::string to_csv(const Schedule& schedule);

}  // namespace penstock::schedule
