#pragma once
// The `claims:` of an experiment file (format: docs/formats/experiment.md).

#include <span>

#include "penstock/core/yaml.hpp"
#include "penstock/report/claims.hpp"

namespace penstock::experiment {

/// Reads the list under `claims:`, empty without one. `rows` are the expected rows, with only their axes: a
/// claim about columns or rows that will not exist is an error, with file, line and key.
std::vector<report::Claim> read_claims(const core::Yaml& root, const report::TextRows& rows);

/// Removes claims.csv and claims.json of an earlier run from the folder.
void remove_claims(const std::string& folder);

/// Judges the claims, and writes claims.csv and claims.json into the folder; removes them if there are no
/// claims. Returns the table for a terminal.
std::string write_claims(const std::string& folder, const std::string& experiment, const std::string& summary,
                         std::span<const report::Claim> claims, const report::TextRows& rows);

}  // namespace penstock::experiment
