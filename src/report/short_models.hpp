#pragma once
// Short model names for a table: parameters common to all rows are listed above it.

#include <span>
#include <string>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::report {

struct ShortModels {
  std::vector<std::string> names;  ///< [row] model with the parameters in which its rows differ
  std::string common;  ///< a line such as "llama: layers=2 hidden=64" for each model with common parameters
};

ShortModels short_models(std::span<const CellResult> rows);

}  // namespace penstock::report
