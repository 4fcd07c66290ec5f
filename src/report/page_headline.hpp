#pragma once
// Opening sentences of a page. Private to the room.

#include <string>
#include <vector>

#include "penstock/report/page.hpp"

namespace penstock::report {

/// Returns sentences such as "graphpipe is fastest, or equal, on 10 of 12 problems". Then come the number of
/// cells without a plan, with reasons; for schedules the one with the smallest bubble; the verdicts on claims.
std::vector<std::string> headline(const Page& page);

}  // namespace penstock::report
