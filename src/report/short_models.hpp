#pragma once
// Names of models in a table of several rows: parameters that all rows share stand above it.

#include <span>
#include <string>
#include <vector>

#include "penstock/report/results.hpp"

namespace penstock::report {

struct ShortModels {
  std::vector<std::string> names;  ///< [row] the model with the parameters that other rows of it do not share
  std::string common;              ///< "llama: layers=2 hidden=64" a line, for each model with shared ones
};

ShortModels short_models(std::span<const CellResult> rows);

}  // namespace penstock::report
