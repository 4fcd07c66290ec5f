#pragma once
// Opening sentences of a page. Private to the room.

#include <string>
#include <vector>

#include "penstock/report/page.hpp"

namespace penstock::report {

/// Returns sentences such as "graphpipe is fastest, or equal, on 10 of 12 problems; at most 1.16 times as
/// fast as the next (spp, ...).", then the number of cells without a plan and the reasons. For schedules, the
/// one with the smallest bubble; the verdicts on claims.
std::vector<std::string> headline(const Page& page);

}  // namespace penstock::report
