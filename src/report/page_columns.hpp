#pragma once
// The rows of a page by columns, each with its name and meaning. Private to the room.

#include <string>

#include "penstock/report/page.hpp"

namespace penstock::report {

/// {"study": "plans" or "schedules", "columns": [{name, title, meaning, kind, priority, place}], "values": [a
/// list for each column], "notes": [of each row]}. Whatever columns rows have are there (columns.hpp); those
/// that the page has no words for come last in priority.
std::string columns_json(const Page& page);

}  // namespace penstock::report
