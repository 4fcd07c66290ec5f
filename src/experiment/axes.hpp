#pragma once
// The further axes of a grid: where an experiment file has a list for one value.

#include <filesystem>
#include <vector>

#include "penstock/core/yaml.hpp"
#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// Cells that differ in optimizer, compression, precision, bucket, runtime, micro_batch,
/// pipeline_micro_batch, search, schedule, simulation.network and .collective, in this order, the last one
/// fastest; a value that is no list is no axis. Nothing else of a cell is set. Files are relative to
/// `folder`. Throws BadInput.
std::vector<Cell> read_axes(const core::Yaml& root, const std::filesystem::path& folder);

}  // namespace penstock::experiment
