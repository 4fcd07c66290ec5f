#pragma once
// Closed forms of a job that fails, restarts and continues from its last checkpoint.

#include "penstock/core/units.hpp"

namespace penstock::jobs {

/// Failures of a job at a constant rate, and what they cost. All times are seconds.
struct FailureCosts {
  core::Seconds mtbf;        ///< mean time between failures of all devices of the job together; above zero
  core::Seconds checkpoint;  ///< time for which a checkpoint stops the job; above zero
  core::Seconds restart;     ///< time from a failure until the job computes again
};

/// Seconds of work between two checkpoints that lose the least time, to first order: sqrt(2 checkpoint mtbf). Young, A First
/// Order Approximation to the Optimum Checkpoint Interval, CACM 17(9), 1974.
core::Seconds young_interval(const FailureCosts& costs);

/// Interval that loses the least time, to higher order; the MTBF where a checkpoint takes twice the MTBF or longer. Daly, A higher order estimate
/// of the optimum checkpoint interval for restart dumps, FGCS 22(3), 2006, equation 37.
core::Seconds daly_interval(const FailureCosts& costs);

/// Share of wall time that becomes lasting progress, 0 to 1, with a checkpoint after every `interval` of work. Exact for
/// failures at a constant rate, which also strike during checkpoints and restarts. Daly 2006, equation 20.
double goodput(const FailureCosts& costs, core::Seconds interval);

/// Share of time in which all `spares` are in repair and the job waits for a device. Repairs begin at once and take `repair`;
/// a job that waits does not fail. This is Erlang's loss formula (1917) with spares + 1 lines and load repair / mtbf. It holds
/// for repair times of any distribution with that mean.
double waiting_share(core::Seconds mtbf, int spares, core::Seconds repair);

}  // namespace penstock::jobs
