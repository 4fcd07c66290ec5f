#pragma once
// Files that a command writes beside each other, under names that the user did not spell out.

#include <string>
#include <string_view>
#include <vector>

namespace penstock::cli {

/// Throws core::Error (experiment::kOccupied) that names the first of `files` that is there already. Does not
/// throw if `record`, a JSON file among them, has a provenance that names `command` ("penstock replay") as
/// its writer. Never throws with `force`.
void check_replaceable(const std::vector<std::string>& files, const std::string& record,
                       std::string_view command, bool force);

}  // namespace penstock::cli
