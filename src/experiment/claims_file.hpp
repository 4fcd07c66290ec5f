#pragma once
// The `claims:` of an experiment file (docs/formats/experiment.md describes the form).

#include <span>

#include "penstock/core/yaml.hpp"
#include "penstock/report/claims.hpp"

namespace penstock::experiment {

/// The list under `claims:`, empty without one. `rows` are those to come, with their axes alone: a claim
/// about columns or rows that will not be there is refused, with file, line and key.
std::vector<report::Claim> read_claims(const core::Yaml& root, const report::Rows& rows);

/// Takes claims.csv and claims.json out of the folder, where an earlier run has left them.
void remove_claims(const std::string& folder);

/// Judges, and writes claims.csv and claims.json into the folder; removes them where there are no claims. The
/// table for a terminal.
std::string write_claims(const std::string& folder, const std::string& experiment, const std::string& summary,
                         std::span<const report::Claim> claims, const report::Rows& rows);

}  // namespace penstock::experiment
