#pragma once
// Which experiment a results folder belongs to.

#include <string>

#include "penstock/core/error.hpp"

namespace penstock::experiment {

/// Throws core::Error (kOccupied) that names both, where the folder has results of an experiment of another
/// name: experiment.json says which, or claims.json of older results. Others go over nothing.
void check_owner(const std::string& folder, const std::string& experiment);

/// The same, and writes experiment.json, the experiment's name and summary, before anything else is written.
void own(const std::string& folder, const std::string& experiment, const std::string& summary);

}  // namespace penstock::experiment
