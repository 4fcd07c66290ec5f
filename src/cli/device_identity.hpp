#pragma once
// What a calibration says of the device it was made on.

#include "command.hpp"
#include "penstock/calibrate/clock.hpp"
#include "penstock/cost/calibration.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::cli {

/// What the backend says of itself, and what this process knows beside.
cost::Identity identity(const kernels::Backend& backend, const calibrate::Clock& clock,
                        const Session& session);

/// What measuring may take: half of what is free on the host, half of all on a device that is ours alone.
core::Bytes usable_memory(const cost::Identity& identity);

}  // namespace penstock::cli
