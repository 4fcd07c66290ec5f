#pragma once
// Origin of results: build, machine and time.

#include "penstock/report/results.hpp"

namespace penstock::experiment {

/// Version of this build, "0.1.0", and its commit: with "-dirty" appended if the sources differed, or
/// "unknown".
extern const char *const kVersion, *const kCommit;

/// Provenance of results made by this process now; `command` is its command line.
report::Provenance provenance(const std::string& command);

/// Identity of the build: version, commit and compiler; without a clean commit also the digest of
/// `executable`, a path.
std::string program(const report::Provenance& provenance, const std::string& executable);

}  // namespace penstock::experiment
