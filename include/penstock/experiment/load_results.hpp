#pragma once
// What run() wrote of its rows, as one value.

#include <string>

#include "penstock/report/results.hpp"

namespace penstock::experiment {

/// Joins results.json with timings.csv, if there is one, and provenance.json; the last is not asked for where
/// results.json holds its provenance itself, as that of `penstock compare` does. Of a folder that has a
/// validation.json instead, the provenance alone. Throws BadInput.
report::Results load_results(const std::string& folder);

}  // namespace penstock::experiment
