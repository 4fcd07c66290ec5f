#pragma once
// Headings of a profiled iteration, equal in table and picture. Private to the room.

#include <string>

#include "penstock/report/profiled_run.hpp"

namespace penstock::report {

/// Returns a text such as "plan, step 3".
std::string profiled_title(const ProfiledPlan& found);
/// Iteration times, and the error of the simulated one.
std::string profiled_times(const ProfiledPlan& found);

}  // namespace penstock::report
