#pragma once
// The cluster file that a finished calibration leaves beside itself.

#include <string>

#include "penstock/cost/calibration.hpp"

namespace penstock::cli {

/// "host.yaml": "host.cluster.yaml".
std::string cluster_file_of(const std::string& calibration_file);

/// Writes it, of so many of the devices where messages between them were measured, else of one; unless a file
/// of that name is there that no calibration has written. What became of that, and the next command, with
/// `model` as options of `penstock plan`, in lines.
std::string write_cluster_file(const cost::Calibration& calibration, const std::string& calibration_file,
                               int devices, const std::string& model);

}  // namespace penstock::cli
