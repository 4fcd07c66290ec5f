#pragma once
// Index of a results folder: its experiments, and the verdicts on the papers' claims.

#include <string>

namespace penstock::experiment {

/// Returns README.md over all folders of `results`, as text. It has a table of experiments with their rows
/// and verdicts, then the claims of each, with the reason if one is not reproduced. Reads results.json (or
/// any *.json with results) and claims.json, and adds nothing. Folders are sorted by name. Throws BadInput
/// for a missing folder or one without results, and for files that are not results.
std::string results_index(const std::string& results);

/// True if the text is an index of any results.
bool is_results_index(const std::string& text);

}  // namespace penstock::experiment
