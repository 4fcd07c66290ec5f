#pragma once
// Why a search has no plan, or not the best, as the status of its row.

#include <string>
#include <string_view>

#include "penstock/core/stop.hpp"

namespace penstock::experiment {

/// Of the error that is being handled: "infeasible: ...", "timed out: ...", "memory full: ...", "limit: ..."
/// or, by a planner of the calling program, "invalid plan: ...". Throws it again where it says no such thing.
std::string no_plan_status();

/// "interrupted", "memory full" or "timed out": the limit that the error is about, or that the token has hit.
std::string_view limit_word(const core::LimitHit& limit);
std::string_view limit_word(core::StopToken stop);

}  // namespace penstock::experiment
