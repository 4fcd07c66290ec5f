#pragma once
// The index of a results folder: which experiments there are, and what became of the papers' claims.

#include <string>

namespace penstock::experiment {

/// README.md over all folders of `results`, as text: a table of experiments with their rows and verdicts,
/// then the claims of each with the reason where one is not reproduced. Reads results.json (or any *.json
/// with results) and claims.json; says nothing that is not in them. Folders in alphabetical order. Throws
/// BadInput for a folder that is not there or holds no results, and for files that are not results.
std::string results_index(const std::string& results);

/// Whether the text is an index, of whatever results.
bool is_results_index(const std::string& text);

}  // namespace penstock::experiment
