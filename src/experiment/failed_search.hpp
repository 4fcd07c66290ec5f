#pragma once
// Status of a row whose search has no plan, or not the best one.

#include <string>
#include <string_view>

#include "penstock/core/stop.hpp"

namespace penstock::experiment {

/// Status of the error being handled: "infeasible: ...", "timed out: ...", "memory full: ...", "limit: ..."
/// or, for a planner of the calling program, "invalid plan: ...". Rethrows other errors.
std::string no_plan_status();

/// Returns "interrupted", "memory full" or "timed out": the limit that the error is about, or that the token
/// has hit.
std::string_view limit_word(const core::LimitHit& limit);
std::string_view limit_word(core::StopToken stop);

}  // namespace penstock::experiment
