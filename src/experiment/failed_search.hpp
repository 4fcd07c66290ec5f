#pragma once
// Why a search has no plan, as the status of its row.

#include <string>

namespace penstock::experiment {

/// Of the error that is being handled: "infeasible: ...", "timed out: ...", "memory full: ..." or "limit:
/// ...". Throws it again where it says no such thing.
std::string no_plan_status();

}  // namespace penstock::experiment
