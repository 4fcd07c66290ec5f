#pragma once
// The experiment that a results folder belongs to.

#include <string>

#include "penstock/core/error.hpp"

namespace penstock::experiment {

/// Throws core::Error (kOccupied) naming both experiments if the folder has results of an experiment with
/// another name, according to experiment.json, or claims.json in older results.
void check_owner(const std::string& folder, const std::string& experiment);

/// Calls check_owner(), then writes experiment.json with the experiment's name and summary, before anything
/// else is written.
void own(const std::string& folder, const std::string& experiment, const std::string& summary);

}  // namespace penstock::experiment
