#pragma once
// What a page says first, in sentences. Private to the room.

#include <string>
#include <vector>

#include "penstock/report/page.hpp"

namespace penstock::report {

/// "graphpipe is fastest, or equal, on 10 of 12 problems; at most 1.16 times as fast as the next (spp,
/// ...).", then how many cells have no plan and why; of schedules, whose bubble is smallest; what became of
/// the claims.
std::vector<std::string> headline(const Page& page);

}  // namespace penstock::report
