#pragma once
// Identity of the device that a calibration was made on.

#include "command.hpp"
#include "penstock/calibrate/clock.hpp"
#include "penstock/cost/calibration.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::cli {

/// Identity that the backend reports, and what this process adds.
cost::MeasurementIdentity identity(const kernels::Backend& backend, const calibrate::DeviceClock& clock,
                                   const CommandContext& session);

/// Memory that measuring may take: half of what is free on the host, half of all on a device that only we
/// use.
core::Bytes usable_memory(const cost::MeasurementIdentity& identity);

}  // namespace penstock::cli
