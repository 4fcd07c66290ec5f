#pragma once
// Further axes of a grid: keys of an experiment file with a list of values.

#include <filesystem>
#include <vector>

#include "penstock/core/yaml.hpp"
#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// Cells that differ in optimizer, compression, precision, bucket, runtime, micro_batch,
/// pipeline_micro_batch, search, schedule, simulation.network and .collective, in this order, the last one
/// changing fastest. A value that is not a list is no axis. Other fields of a cell are not set. Files are
/// relative to `folder`. Throws BadInput.
std::vector<Cell> read_axes(const core::Yaml& root, const std::filesystem::path& folder);

}  // namespace penstock::experiment
