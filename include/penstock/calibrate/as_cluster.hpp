#pragma once
// The measured device as a cluster of several such devices, to plan for them.

#include <cstdint>
#include <optional>
#include <string>

#include "penstock/cost/calibration.hpp"
#include "penstock/cost/communication.hpp"

namespace penstock::calibrate {

/// One line through the copies between two devices, with equal weight for all sizes; empty if none were
/// measured.
std::optional<cost::AffineTime> peer_line(const cost::Calibration& calibration);

/// How the host of a GPU launches kernels. On a host, threads call their kernels.
enum class LaunchMethod : std::uint8_t {
  free,   ///< the GPU never waits for its host
  eager,  ///< one by one, as a replay does
  graph,  ///< as one captured graph
};

/// The text of a cluster file with `devices` devices (at least one) like the measured one. They share its
/// memory equally, except GPUs whose copies to each other were measured: each of these has all of it. Every
/// message takes the time of `link`; a single device has none. Peaks and bandwidth are the measured ceilings,
/// so no number is from a data sheet. GPUs wait for their hosts for the measured time of a launch of that
/// kind (host_launch). Throws BadInput if launches in graphs were not measured.
std::string cluster_yaml(const cost::Calibration& calibration, int devices, const cost::AffineTime& link,
                         LaunchMethod launching = LaunchMethod::eager);

}  // namespace penstock::calibrate
