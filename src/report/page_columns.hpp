#pragma once
// The rows of a page by columns, each with its name and meaning. Private to the room.

#include <string>

#include "penstock/report/page.hpp"

namespace penstock::report {

/// JSON {"study": "plans" or "schedules", "columns": [{name, title, meaning, kind, priority, place}],
/// "values": [a list for each column], "notes": [of each row]}. Has all columns of the rows (columns.hpp);
/// those for which the page has no words have the lowest priority.
std::string columns_json(const Page& page);

}  // namespace penstock::report
