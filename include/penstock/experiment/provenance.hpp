#pragma once
// Who makes results: this build, on this machine, now.

#include "penstock/report/results.hpp"

namespace penstock::experiment {

/// Of this build: "0.1.0", and the commit, "-dirty" appended when the sources differed, or "unknown".
extern const char *const kVersion, *const kCommit;

/// The birth certificate of results made by this process now; `command` is how it was called.
report::Provenance provenance(const std::string& command);

/// Which build this is: version, commit and compiler; of sources that no commit names, the digest of
/// `executable`, a path.
std::string program(const report::Provenance& provenance, const std::string& executable);

}  // namespace penstock::experiment
