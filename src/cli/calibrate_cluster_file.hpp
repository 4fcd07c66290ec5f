#pragma once
// The cluster file that a finished calibration leaves beside itself.

#include <string>

#include "penstock/cost/calibration.hpp"

namespace penstock::cli {

/// "host.yaml": "host.cluster.yaml".
std::string cluster_file_of(const std::string& calibration_file);

/// Writes the cluster file, with as many devices as messages were measured between, else one. Writes nothing
/// if a file of that name exists that no calibration has written. Returns lines: the outcome, and the next
/// command, with `model` as options of `penstock plan`.
std::string write_cluster_file(const cost::Calibration& calibration, const std::string& calibration_file,
                               int devices, const std::string& model);

}  // namespace penstock::cli
